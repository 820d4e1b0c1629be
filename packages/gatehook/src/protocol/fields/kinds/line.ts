/** `b.line(max)`: one line of text, which people read as it is written. */
import { textSchema } from '../json-schema.ts'
import type { MemberKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textCell } from './cells.ts'

/** Has a character that is no white space, and no control character. Takes linear time. */
const LINE = /^[^\S\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$/u
/**
 * Control characters of C1, separators of lines, bidirectional controls, and characters without a
 * width: they reorder the text around a name, or make two names that look alike. The joiners U+200C
 * and U+200D stay, which emoji and several scripts need. The published pattern lacks them: dialects
 * of expressions write such characters in different ways.
 */
const DECEPTIVE = /[\x80-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/

const isLine = (text: string): boolean =>
  LINE.test(text) && !DECEPTIVE.test(text) && text.isWellFormed()

const WORDS = 'one line of valid Unicode without control or invisible characters'

export const line: MemberKind = {
  reader: (spec) => createReader(textFinder(spec, WORDS, isLine)),
  schema: (spec) => ({ ...textSchema(spec), pattern: LINE.source }),
  cell: () => textCell,
}
