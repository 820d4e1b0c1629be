/** `b.page(items)`: a page of a list. */
import type { MemberKind } from '../kind.ts'
import { acceptAny, createReader } from '../reading.ts'
import { textCell } from './cells.ts'

export const page: MemberKind = {
  reader: () => createReader(acceptAny),
  schema: ({ items }, inside) => inside.page(inside.schemaOf(items!)),
  cell: () => textCell,
}
