/** `b.line(max)`: one line of text. */
import { textSchema } from '../json-schema.ts'
import type { MemberKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textCell } from './cells.ts'

/** Has a character that is no white space, and no control character. Takes linear time. */
const LINE = /^[^\S\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$/u
const isLine = (text: string): boolean => LINE.test(text) && text.isWellFormed()

export const line: MemberKind = {
  reader: (spec) => createReader(textFinder(spec, 'one line of valid Unicode', isLine)),
  schema: (spec) => ({ ...textSchema(spec), pattern: LINE.source }),
  cell: () => textCell,
}
