/** Tabs: the arrow keys move, and one tab is in the tab order. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

export interface Tab {
  readonly name: string
  readonly label: string
  readonly content: () => ComponentChildren
}

interface TabsProps {
  readonly label: string
  readonly tabs: readonly Tab[]
  /** At the end of the row: a copy button of the open tab. */
  readonly action?: (name: string) => ComponentChildren
}

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 }

export function Tabs({ label, tabs, action }: TabsProps) {
  const id = useId()
  const selected = useSignal(tabs[0]!.name)
  const open = tabs.find(({ name }) => name === selected.value) ?? tabs[0]!
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(open) + step + tabs.length) % tabs.length]!
    selected.value = next.name
    document.getElementById(`${id}-${next.name}`)?.focus()
  }
  return (
    <>
      <div class="tabrow">
        <div class="tabs" role="tablist" aria-label={label}>
          {tabs.map(({ name, label }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${name}`}
              aria-controls={`${id}-panel`}
              aria-selected={name === open.name}
              tabIndex={name === open.name ? 0 : -1}
              onKeyDown={onKeyDown}
              onClick={() => {
                selected.value = name
              }}
            >
              {label}
            </button>
          ))}
        </div>
        {action?.(open.name)}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open.name}`}>
        {open.content()}
      </div>
    </>
  )
}
