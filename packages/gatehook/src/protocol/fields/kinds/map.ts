/** `b.map(values)`: an object with any names. */
import type { MemberKind } from '../kind.ts'
import { isPlainObject, mistypedAs, pointerPart, type ReadValue } from '../reading.ts'
import { jsonCell } from './cells.ts'

export function createMapReader(read: ReadValue, nullable: boolean): ReadValue {
  const mistyped = mistypedAs('an object', nullable)
  return (value, pointer, report) => {
    if (!isPlainObject(value)) return report(pointer, ...mistyped(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, own]) => [
        name,
        read(own, `${pointer}/${pointerPart(name)}`, report),
      ]),
    )
  }
}

export const map: MemberKind = {
  reader: ({ items, nullable }, inside) => createMapReader(inside(items!), nullable),
  schema: ({ items }, inside) => ({
    type: 'object',
    additionalProperties: inside.schemaOf(items!),
  }),
  cell: () => jsonCell,
  display: 'json',
}
