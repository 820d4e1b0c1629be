/** Keys of one letter, sequences after `g`, and the list of them. A reader can disable them. */
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { nowMs } from './clock.ts'
import { readStored, store } from './stored.ts'

export interface KeyRow {
  /** `/`, `j`, or `g o`. */
  readonly keys: string
  readonly label: string
}

interface Binding extends KeyRow {
  readonly run: () => void
}

const STORED_AS = 'gatehook-keys'
const SEQUENCE_MS = 1200
const bindings = new Set<Binding>()
export const areKeysOn = signal(readStored(STORED_AS) !== 'off')

export function setKeysOn(isOn: boolean): void {
  areKeysOn.value = isOn
  store(STORED_AS, isOn ? 'on' : 'off')
}

/** The keys of the current page, for the help. */
export const boundKeys = (): readonly KeyRow[] => [...bindings]

/** Binds keys while the component is mounted. */
export function useKeys(rows: readonly Binding[]): void {
  const latest = useRef(rows)
  latest.current = rows
  const names = rows.map(({ keys }) => keys).join()
  // `names` changes with the rows; `latest` has them.
  useEffect(() => {
    const added = latest.current.map((row, at) => ({
      ...row,
      run: () => latest.current[at]?.run(),
    }))
    for (const binding of added) bindings.add(binding)
    return () => {
      for (const binding of added) bindings.delete(binding)
    }
  }, [names])
}

let prefix = ''
let prefixMs = 0

/** An open dialog has the keys, even while the focus is on none of its elements. */
const isTyping = (target: EventTarget | null): boolean =>
  document.querySelector('dialog[open]') !== null ||
  (target instanceof Element && target.closest('input, textarea, select') !== null)

export function startKeyboard(): void {
  document.addEventListener('keydown', (event) => {
    const { key, metaKey, ctrlKey, altKey } = event
    if (!areKeysOn.value || metaKey || ctrlKey || altKey || isTyping(event.target)) return
    const isSequence = prefix !== '' && nowMs() - prefixMs < SEQUENCE_MS
    const name = isSequence ? `${prefix} ${key}` : key
    prefix = ''
    const binding = [...bindings].findLast(({ keys }) => keys === name)
    if (binding) {
      event.preventDefault()
      binding.run()
    } else if ([...bindings].some(({ keys }) => keys.startsWith(`${key} `))) {
      prefix = key
      prefixMs = nowMs()
    }
  })
}

/** Moves the focus between the rows of a table. */
export function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main a.cover')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus()
}
