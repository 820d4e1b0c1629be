/** The common parts of kinds whose JSON, row and cell are the same text. */
import { textCell } from './cells.ts'

export const textKind = {
  cell: () => textCell,
  json: 'string',
  column: 'text',
} as const
