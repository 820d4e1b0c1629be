/** A labelled field with its hint and its error. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'datetime-local'
  readonly name?: string
  readonly hint?: ComponentChildren
  /** The server's message on this field. */
  readonly error?: string | undefined
  readonly autocomplete?: string
  readonly autofocus?: boolean
  readonly placeholder?: string
  readonly inputMode?: 'numeric' | 'text'
  readonly maxLength?: number
  readonly required?: boolean
  /** Lines of a text area. */
  readonly rows?: number
  /** Choices of a select: value and label. */
  readonly options?: readonly (readonly [value: string, label: string])[]
}

export function Field(props: FieldProps) {
  const id = useId()
  const { label, value, onInput, hint, error } = props
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  const shared = {
    id,
    name: props.name,
    value,
    'aria-describedby': described || undefined,
    'aria-invalid': error ? ('true' as const) : undefined,
    autofocus: props.autofocus,
    required: props.required,
    onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Control {...props} shared={shared} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="err" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

interface ControlProps extends Omit<FieldProps, 'onInput' | 'hint' | 'error' | 'label'> {
  // biome-ignore lint/suspicious/noExplicitAny: the attributes fit each of the three elements
  readonly shared: any
}

function Control({ shared, ...props }: ControlProps) {
  if (props.options) {
    return (
      <select {...shared} onChange={shared.onInput}>
        {props.options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    )
  }
  if (props.rows !== undefined) {
    return <textarea {...shared} rows={props.rows} placeholder={props.placeholder} />
  }
  return (
    <input
      {...shared}
      type={props.type ?? 'text'}
      autocomplete={props.autocomplete}
      placeholder={props.placeholder}
      inputMode={props.inputMode}
      maxLength={props.maxLength}
      spellcheck={false}
    />
  )
}

interface CheckProps {
  readonly label: ComponentChildren
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
}

export const Check = ({ label, checked, onChange, disabled }: CheckProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
)
