/** The common parts of kinds whose cell is a JSON text. */
import type { FieldKind, ValueForm } from '../kind.ts'
import { jsonCell } from './cells.ts'

export const jsonKind = {
  cell: () => jsonCell,
  json: 'any',
  column: 'text',
} as const satisfies Partial<FieldKind>

export type JsonForm = NonNullable<ValueForm['json']>

/** Returns the form of a value whose cell is its JSON text. */
export const jsonForm = (json?: JsonForm): ValueForm => ({
  ...(json && { json }),
  cell: {
    to: (value) => JSON.stringify(json ? json.to(value) : value),
    from: (cell) => {
      const value: unknown = JSON.parse(cell as string)
      return json ? json.from(value) : value
    },
  },
})
