/** A filter of words such as `status:4xx`, each a chip, with completion. Words combine by *and*. */
import { useId, useRef, useState } from 'preact/hooks'

interface LabelledValue {
  readonly value: string
  readonly label: string
}

export interface FilterWord {
  /** `status` */
  readonly name: string
  readonly hint: string
  /** Values to offer; a chip displays the label of its value. */
  readonly values?: readonly (string | LabelledValue)[] | undefined
  /** Returns why a value is not accepted. */
  readonly check?: (value: string) => string | undefined
}

export interface Filter {
  readonly name: string
  readonly value: string
}

interface QueryBoxProps {
  readonly label: string
  readonly words: readonly FilterWord[]
  readonly filters: readonly Filter[]
  readonly onChange: (filters: readonly Filter[]) => void
  readonly placeholder?: string
}

/** Returns the filter that a text means, or why it means none. */
export function readFilter(text: string, words: readonly FilterWord[]): Filter | string {
  const colon = text.indexOf(':')
  const names = words.map(({ name }) => `${name}:`).join(' ')
  if (colon < 0) return `Write a word and a value, for example ${words[0]!.name}:…. Words: ${names}`
  const name = text.slice(0, colon)
  const value = text.slice(colon + 1)
  const word = words.find((word) => word.name === name)
  if (!word) return `“${name}:” is not a word of this filter. Words: ${names}`
  if (value === '') return `“${name}:” needs a value: ${word.hint}.`
  const meant = resolveLabel(value, word)
  return word.check?.(meant) ?? { name, value: meant }
}

/** Returns the value of the only option with a label that the text is, or is a part of. */
function resolveLabel(text: string, word: FilterWord): string {
  const options = optionsOf(word)
  if (options.some(({ value }) => value === text)) return text
  const folded = text.toLowerCase()
  const equal = options.filter(({ label }) => label.toLowerCase() === folded)
  const similar = options.filter(({ label }) => label.toLowerCase().includes(folded))
  const [only, ...others] = equal.length > 0 ? equal : similar
  return only && others.length === 0 && only.label !== only.value ? only.value : text
}

const labelOf = ({ name, value }: Filter, words: readonly FilterWord[]): string =>
  optionsOf(words.find((word) => word.name === name)).find((option) => option.value === value)
    ?.label ?? value

interface Completion {
  readonly text: string
  readonly hint: string
}

function completionsOf(text: string, words: readonly FilterWord[]): readonly Completion[] {
  const colon = text.indexOf(':')
  if (colon < 0) {
    return words
      .filter(({ name }) => name.startsWith(text))
      .map(({ name, hint }) => ({ text: `${name}:`, hint }))
  }
  const word = words.find(({ name }) => name === text.slice(0, colon))
  const typed = text.slice(colon + 1).toLowerCase()
  return optionsOf(word)
    .filter(({ label }) => label.toLowerCase().includes(typed) && label !== typed)
    .slice(0, MAX_COMPLETIONS)
    .map(({ value, label }) => ({
      text: `${word!.name}:${value}`,
      hint: label === value ? '' : label,
    }))
}

const MAX_COMPLETIONS = 12

const optionsOf = (word: FilterWord | undefined): readonly LabelledValue[] =>
  (word?.values ?? []).map((option) =>
    typeof option === 'string' ? { value: option, label: option } : option,
  )

interface ChipProps {
  readonly filter: Filter
  readonly label: string
  readonly onRemove: () => void
}

const Chip = ({ filter, label, onRemove }: ChipProps) => (
  <span class="chip">
    {filter.name}:<b>{label}</b>
    <button type="button" aria-label={`Remove ${filter.name}: ${label}`} onClick={onRemove}>
      ×
    </button>
  </span>
)

export function QueryBox({ label, words, filters, onChange, placeholder }: QueryBoxProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [error, setError] = useState('')
  const [at, setAt] = useState(-1)
  /** After a word the list is closed, so that it covers no row, until the next key. */
  const [isOpen, setOpen] = useState(false)
  const completions = isOpen ? completionsOf(text, words) : []
  const type = (value: string) => {
    setText(value)
    setError('')
    setAt(-1)
  }
  const remove = (filter: Filter) => onChange(filters.filter((other) => other !== filter))
  const add = (value: string) => {
    const filter = readFilter(value.trim(), words)
    if (typeof filter === 'string') return setError(filter)
    onChange([...filters.filter(({ name }) => name !== filter.name), filter])
    type('')
    setOpen(false)
  }
  const take = (completion: Completion) =>
    completion.text.endsWith(':') ? type(completion.text) : add(completion.text)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const last = filters.at(-1)
    if (step !== undefined && !isOpen) setOpen(true)
    else if (step !== undefined && completions.length > 0) {
      event.preventDefault()
      setAt((at + step + completions.length) % completions.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      const completion = completions[at]
      if (completion) take(completion)
      else if (text.trim() !== '') add(text)
    } else if (event.key === 'Tab' && text !== '' && completions[0] && !event.shiftKey) {
      event.preventDefault()
      take(completions[Math.max(0, at)]!)
    } else if (event.key === 'Backspace' && text === '' && last) remove(last)
    else if (event.key === 'Escape') input.current?.blur()
  }
  return (
    <div class="query-box">
      <div class="query">
        {filters.map((filter) => (
          <Chip
            key={filter.name}
            filter={filter}
            label={labelOf(filter, words)}
            onRemove={() => remove(filter)}
          />
        ))}
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label={label}
          aria-expanded={completions.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
          aria-autocomplete="list"
          aria-invalid={error ? 'true' : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          autocomplete="off"
          spellcheck={false}
          value={text}
          placeholder={filters.length === 0 ? placeholder : undefined}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onInput={(event) => {
            type(event.currentTarget.value)
            setOpen(true)
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>/</kbd>
        <div
          class="completions"
          id={`${id}-list`}
          role="listbox"
          aria-label="Completions"
          hidden={completions.length === 0}
        >
          {completions.map((completion, n) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
            <div
              key={completion.text}
              id={`${id}-${n}`}
              role="option"
              aria-selected={n === at}
              onMouseDown={(event) => {
                event.preventDefault()
                take(completion)
              }}
            >
              <code>{completion.text}</code>
              <span class="soft">{completion.hint}</span>
            </div>
          ))}
        </div>
      </div>
      {error && (
        <p class="err" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
