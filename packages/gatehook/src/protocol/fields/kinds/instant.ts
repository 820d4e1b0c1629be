/** `b.instant()`: the instant of a request. */
import type { MemberKind } from '../kind.ts'
import { textCell } from './cells.ts'
import { instantReading } from './time.ts'

export const instant: MemberKind = {
  // A body may also have a date: a union of two formats is a type that generators lack.
  ...instantReading,
  cell: () => textCell,
}
