/** A column of an object, as the engine declares it (decision 0109). Types only. */
import type { Tone } from '../parts/state.tsx'
import type { ListedObject, rowColumns } from './row-columns.ts'
import type { rowFacts } from './row-facts.ts'

type Declared =
  | (typeof rowColumns)[ListedObject][number]
  | (typeof rowFacts)[keyof typeof rowFacts][number]

/** How a table displays a value. Undefined: its text. */
export type CellDisplay = Extract<Declared, { readonly as: unknown }>['as']

/** The tones and words of a member's values, for rows in which the member `when` is not empty. */
export type StateRule = readonly [
  member: string,
  words: Readonly<Record<string, readonly [tone: Tone, word?: string]>>,
  when?: string,
]

export interface RowColumn {
  /** The path of the member: `health.waiting`. */
  readonly name: string
  readonly title: string
  readonly as?: CellDisplay | undefined
  /** The word for null and for an empty list. */
  readonly none?: string
  /** Takes the remaining width. */
  readonly isWide?: boolean
  readonly states?: readonly StateRule[]
}
