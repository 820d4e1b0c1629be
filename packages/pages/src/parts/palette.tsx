/** One box for pages, actions and everything with an id or a name. */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { after } from '../clock.ts'

export interface PaletteEntry {
  readonly id: string
  /** `Go to`, `Do`, `Result`. */
  readonly kind: string
  readonly label: string
  readonly keys?: string
  readonly run: () => void
}

interface PaletteProps {
  /** Pages and actions, filtered by their label. */
  readonly entries: () => readonly PaletteEntry[]
  /** Returns results of the server. */
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly PaletteEntry[]>
}

const REMOTE_DELAY_MS = 120
const isOpen = signal(false)

export const openPalette = (): void => {
  isOpen.value = true
}

export const Palette = (props: PaletteProps) => (isOpen.value ? <PaletteBox {...props} /> : null)

/** Loads the results of the server a moment after the last letter. */
function useResults({ search }: PaletteProps, text: string) {
  const [results, setResults] = useState<readonly PaletteEntry[]>([])
  const [isSearching, setSearching] = useState(false)
  // `search` stays the same.
  useEffect(() => {
    setResults([])
    if (text.trim().length < 2) return setSearching(false)
    const abort = new AbortController()
    setSearching(true)
    const cancel = after(REMOTE_DELAY_MS, () => {
      search(text.trim(), abort.signal)
        .then(setResults, () => undefined)
        .finally(() => {
          if (!abort.signal.aborted) setSearching(false)
        })
    })
    return () => {
      cancel()
      abort.abort()
    }
  }, [text])
  return { results, isSearching }
}

const matches = (label: string, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => label.toLowerCase().includes(word))

function PaletteBox(props: PaletteProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const { results, isSearching } = useResults(props, text)
  const local = props.entries().filter(({ label }) => matches(label, text))
  const entries = [...results, ...local]
  const selected = entries[Math.min(at, entries.length - 1)]
  const close = () => {
    isOpen.value = false
  }
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  useEffect(() => {
    if (selected) document.getElementById(`p-${selected.id}`)?.scrollIntoView({ block: 'nearest' })
  })
  const run = (entry: PaletteEntry | undefined) => {
    if (!entry) return
    close()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((at + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(selected)
    }
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it as well
    <dialog
      ref={ref}
      class="palette"
      aria-label="Search or jump"
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClick={(event) => event.target === ref.current && close()}
      onClose={close}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={selected && `p-${selected.id}`}
        aria-label="Search or jump: a page, an action, an id, a time"
        placeholder="A page, an action, an id, a time…"
        value={text}
        autofocus
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-list" role="listbox" aria-label="Results">
        {entries.map((entry) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
          <div
            key={entry.id}
            id={`p-${entry.id}`}
            role="option"
            aria-selected={entry === selected}
            onClick={() => run(entry)}
          >
            <span class="up">{entry.kind}</span>
            <span>{entry.label}</span>
            {entry.keys && <kbd>{entry.keys}</kbd>}
          </div>
        ))}
      </div>
      <p class={entries.length === 0 ? 'hint' : 'vh'} role="status">
        {isSearching ? 'Searching' : entries.length === 0 ? `No match for ${text}` : ''}
      </p>
    </dialog>
  )
}
