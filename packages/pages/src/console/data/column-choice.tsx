/** The columns of a table of rows that the reader has hidden, and the dialog to select them. */
import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Check } from '../../parts/field.tsx'
import { readStored, store } from '../../stored.ts'
import type { Resource } from './resource-shapes.ts'

/** The id leads to the row. */
const FIXED = 'id'
const SEPARATOR = ','

const keyOf = (collection: string): string => `gatehook.hidden-columns.${collection}`

export interface ColumnChoice {
  /** The resource with the fields of the columns. */
  readonly visible: Resource
  readonly hidden: ReadonlySet<string>
  readonly hide: (names: ReadonlySet<string>) => void
}

/** Reads the choice of a collection, which this browser stores. */
export function useColumnChoice(resource: Resource): ColumnChoice {
  const key = keyOf(resource.name)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(readStored(key)?.split(SEPARATOR).filter(Boolean)),
  )
  const fields = resource.fields.filter(({ name }) => !hidden.has(name))
  const label = hidden.has(resource.label ?? '') ? null : resource.label
  return {
    visible: { ...resource, fields, label },
    hidden,
    hide(names) {
      store(key, [...names].join(SEPARATOR))
      setHidden(names)
    },
  }
}

interface ColumnsButtonProps {
  readonly resource: Resource
  readonly choice: ColumnChoice
}

export function ColumnsButton({ resource, choice: { hidden, hide } }: ColumnsButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const names = resource.fields
    .filter((field) => !field.write_only && field.name !== FIXED)
    .map(({ name }) => name)
  const toggle = (name: string, isVisible: boolean) => {
    const next = new Set(hidden)
    if (isVisible) next.delete(name)
    else next.add(name)
    hide(next)
  }
  return (
    <>
      <Button size="tiny" onClick={() => setOpen(true)}>
        Columns…
      </Button>
      {isOpen && (
        <Dialog
          title={`Columns of ${resource.name}`}
          isSheet
          onClose={() => setOpen(false)}
          footer={
            <>
              <Button disabled={hidden.size === 0} onClick={() => hide(new Set())}>
                All
              </Button>
              <Button kind="first" onClick={() => setOpen(false)}>
                Done
              </Button>
            </>
          }
        >
          <p class="soft small">
            The first columns also fit a narrow window. This browser stores the choice.
          </p>
          {names.map((name) => (
            <Check
              key={name}
              label={<code>{name}</code>}
              checked={!hidden.has(name)}
              onChange={(isVisible) => toggle(name, isVisible)}
            />
          ))}
        </Dialog>
      )}
    </>
  )
}
