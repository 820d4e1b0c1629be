/** `b.text()`: any text. */
import { textSchema } from '../json-schema.ts'
import type { MemberKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textCell } from './cells.ts'

export const text: MemberKind = {
  reader: (spec) => createReader(textFinder(spec)),
  schema: textSchema,
  cell: () => textCell,
}
