/**
 * The data of a field and of a member: the parts from which schema, validation and OpenAPI follow.
 */

/** Whether a client must, may or must not send the value. */
export type FieldWrite = 'required' | 'optional' | 'never'

/** Reports a mistake in the current value. Returns undefined. */
export type RejectValue = (message: string) => undefined

/** How tables of people display a value. Undefined: its text. */
export type CellDisplay =
  | 'id'
  | 'code'
  | 'number'
  | 'percent'
  | 'status'
  | 'duration'
  | 'truth'
  | 'day'
  | 'time'
  /** An instant in epoch seconds. */
  | 'seconds'
  /** A period in seconds. */
  | 'age'
  | 'ago'
  | 'list'
  | 'count'
  | 'attempts'
  | 'rate'
  | 'json'
  | 'who'
  | 'customer'
  | 'url'

/** The weight of a state: its colour, and its shape in pages. */
export type StateTone = 'ok' | 'warn' | 'bad' | 'hold' | 'idle'

/**
 * A member, and the tones of its values; `*`: of each other one that is not empty (null, false, 0,
 * a list without items). The word of a state is the value, unless the rule has one; `{member}` in
 * it is the value of a member. With `when`, the rule is for rows in which that member is not empty.
 */
export type StateRule = readonly [
  member: string,
  words: Readonly<Record<string, readonly [tone: StateTone, word?: string]>>,
  when?: string,
]

/** A column of the table of an object, beyond what its member says. */
export interface ColumnSpec {
  /** The header. Default: the name of the member. */
  readonly title?: string
  /** Default: follows from the kind and the name of the member. */
  readonly as?: CellDisplay
  /** The word for null and for an empty list. */
  readonly none?: string
  /** Whether texts are long: the end of a line in a terminal, the remaining width of a page. */
  readonly isWide?: boolean
  /** The column is the state of a row: the word of the first rule that has one. */
  readonly states?: readonly StateRule[]
  /** Whether it is a fact of a single object, and no column of a table. */
  readonly isFact?: true
}

/** The columns by the path of their member (`health.waiting`), the most important first. */
export type ColumnSpecs = Readonly<Record<string, ColumnSpec>>

/** A member of a body, as data. Every `FieldSpec` is one. */
export interface MemberSpec {
  /** The name of its kind in the table (`kinds/table.ts`). */
  readonly kind: string
  readonly write: FieldWrite
  readonly nullable: boolean
  /** Bounds: of a number, a text's characters, the number of items, a duration's milliseconds. */
  readonly min?: number
  readonly max?: number
  readonly values?: readonly string[]
  /** The regular expression of a text. */
  readonly pattern?: string
  /** The form of such a text, for messages: "must be an e-mail address". */
  readonly words?: string
  /** The resource that a reference refers to. */
  readonly target?: string
  /** The prefix of an id, or of the ids to which a reference refers; undefined: integers. */
  readonly idPrefix?: string
  /** The digits of a decimal, and those after its point. */
  readonly precision?: number
  readonly scale?: number
  readonly description?: string
  /** The unit of a number: `cent`, `kg`. */
  readonly unit?: string
  /** The value in rows of an omitted member; undefined without a default. */
  readonly default?: unknown
  /** Whether the request log replaces the value. */
  readonly isSecret?: boolean
  /** Whether `values` can grow without notice (§8.11), or an object has further members. */
  readonly isOpen?: boolean
  /** A published format, which the kind, the pattern or `refine` validates. */
  readonly format?: string
  /** The items of a list or of a page, or the values of a map. */
  readonly items?: MemberSpec
  /** Whether its value follows from one that events lack, in an older version. */
  readonly isAbsentFromEvents?: boolean
  /** Whether duplicates of a list are removed. */
  readonly isSet?: boolean
  /** The members of an object; without them any object is valid. */
  readonly members?: MemberSpecs
  /** The name of the schema in OpenAPI documents. */
  readonly name?: string
  /** The columns of a table of such objects (`columns.ts`). */
  readonly columns?: ColumnSpecs
  /** A value for examples in OpenAPI documents, as JSON has it. */
  readonly example?: unknown
  /**
   * Whether the handler validates the value, whose mistakes have another status. The body accepts
   * any text.
   */
  readonly isDeferred?: boolean
  /** Validates further and converts a valid value. */
  readonly refine?: (value: never, reject: RejectValue) => unknown
}

export type MemberSpecs = Readonly<Record<string, MemberSpec>>
