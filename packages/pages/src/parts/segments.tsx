/** A choice of few values in one row. */

interface SegmentsProps<V extends string> {
  readonly label: string
  readonly value: V
  readonly options: readonly (readonly [value: V, label: string])[]
  readonly onChange: (value: V) => void
}

export function Segments<V extends string>(props: SegmentsProps<V>) {
  const { label, value, options, onChange } = props
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be a flex row everywhere
    <div class="seg" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          onClick={() => onChange(option)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}
