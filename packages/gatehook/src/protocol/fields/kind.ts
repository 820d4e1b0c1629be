/**
 * The interface of a kind of field: all that the engine, the pages and the documents need of its
 * values. A kind is a file in `kinds/` and a row of `kinds/table.ts`; every other file reads the
 * table. Functions receive the spec once for each declaration and return functions for values.
 * Those of values that contain others receive `inside`, which does the same for an inner spec.
 */
import type { ColumnType, Value } from '../../platform/storage/database.ts'
import type { JsonSchema } from './json-schema.ts'
import type { ReadValue } from './reading.ts'
import type { CellDisplay, MemberSpec } from './spec.ts'

/**
 * The forms of a value: JSON in bodies and events, the value in rows and handlers, the cell in
 * tables. Null is null in each.
 */
export interface ValueForm {
  /** Undefined: JSON has the value of the row. */
  readonly json?: {
    /** Returns a value of another type as it is; validation reports it. */
    readonly to: (value: unknown) => unknown
    /** Converts valid JSON. */
    readonly from: (json: unknown) => unknown
  }
  /** Undefined: the table has the value of the row. */
  readonly cell?: {
    readonly to: (value: unknown) => string | number
    readonly from: (cell: unknown) => unknown
  }
}

/** How lists encode the cells of a column, and parse its filters. */
export interface ListCell {
  /** Returns the JSON of a cell that is not null. */
  readonly encode: (cell: Value) => string
  /** The JSON of null. Default: `null`. */
  readonly none?: string
  /** Returns the cell of a filter's text; undefined for a text of another form. */
  readonly parse: (text: string) => string | number | undefined
  /** The form of such a text: "must be a whole number". */
  readonly words: string
  /** Valid texts that lie between two cells, and a cell that no row has. */
  readonly between?: { readonly has: (text: string) => boolean; readonly unused: number }
}

/** How the schemas of a document refer to each other. */
export interface SchemaContext {
  /** Whether objects are closed: inputs of a new document, and responses that a test verifies. */
  readonly isClosed: boolean
  /** Returns a reference to a named schema, or the schema itself. */
  reference(name: string, schema: () => JsonSchema): JsonSchema
  /** Returns the schema of a page of items. */
  page(items: JsonSchema): JsonSchema
}

/** The schemas of inner values. */
export interface InnerSchemas extends SchemaContext {
  readonly schemaOf: (spec: MemberSpec) => JsonSchema
  readonly memberSchemaOf: (spec: MemberSpec) => JsonSchema
}

/** A kind of member of the engine's own bodies. */
export interface MemberKind {
  /** Returns the function that validates a JSON value other than null, and converts it to a row. */
  readonly reader: (spec: MemberSpec, inside: (spec: MemberSpec) => ReadValue) => ReadValue
  readonly schema: (spec: MemberSpec, inside: InnerSchemas) => JsonSchema
  /** Undefined: JSON, row and cell have the same value. */
  readonly form?: (spec: MemberSpec, inside: (spec: MemberSpec) => ValueForm) => ValueForm
  readonly cell: (spec: MemberSpec) => ListCell
  /** Returns the spec of a merge patch of the value (RFC 7396). Undefined: a patch replaces it. */
  readonly patch?: (spec: MemberSpec, inside: (spec: MemberSpec) => MemberSpec) => MemberSpec
  /** Converts the text of a query parameter to JSON. Undefined: the text. */
  readonly fromQuery?: (text: string) => unknown
  /** How a table displays the value. Undefined: its text. */
  readonly display?: CellDisplay
}

/** Writes TypeScript: the declaration of a field, and a literal. */
export interface CodeWriter {
  readonly field: (spec: MemberSpec) => string
  readonly literal: (value: unknown) => string
}

/** A kind of field of a declaration. */
export interface FieldKind extends MemberKind {
  /** The type of the JSON; `any` for objects, arrays and values of any type. */
  readonly json: 'string' | 'number' | 'boolean' | 'any'
  /** Whether the JSON has any type, so that a text needs quotes in a cell of CSV. */
  readonly isAnyJson?: boolean

  /** The type of the column, and of the values that an SQL expression derives. */
  readonly column: ColumnType
  /** Returns the SQL of a derived cell, for an expression that has no type of a column. */
  readonly expression?: (sql: string, integerType: string) => string
  /** Whether filters and unique indexes compare the folded text, which has a column (§4.8). */
  readonly isFolded?: boolean
  /** Whether the value has texts by key, which filters name: `metadata[key]=value`. */
  readonly isMap?: boolean
  /** Whether the order of values has no meaning, so that documents declare no ranges. */
  readonly isUnordered?: boolean

  /** Whether values are any text: lists search in it, and filter by its beginning. */
  readonly isText?: boolean
  /** Whether values are amounts, which can have a unit; and whether these have fractions. */
  readonly amount?: 'integer' | 'fraction'
  /** Whether `.min()` and `.max()` go with it. */
  readonly hasBounds?: boolean
  /** The bounds that its call sets, and the call's name if it is not the kind's. */
  readonly initial?: { readonly min?: number; readonly max?: number }
  readonly call?: string
  /** Returns the arguments of its call as code. Undefined: it has none. */
  readonly callCode?: (spec: MemberSpec, code: CodeWriter) => string
  /** Whether the arguments have the bounds, so that no method sets them. */
  readonly hasBoundsInCall?: boolean
  /** Returns the rest of a sentence about a spec that no value fits. */
  readonly findMistake?: (spec: MemberSpec) => string | undefined
  /** Whether a default can lie outside of the bounds. */
  readonly hasFreeDefault?: boolean

  /** Returns a value for examples. `at` is their instant. */
  readonly sample: (sample: {
    readonly name: string
    readonly spec: MemberSpec
    readonly at: number
    readonly inside: (name: string, spec: MemberSpec) => unknown
  }) => unknown
  /** Whether two samples in a row are a period, whose beginning comes first. */
  readonly isMoment?: boolean
  /** Returns a sample that differs for each `n`, for unique fields. Undefined: `sample`. */
  readonly numbered?: (name: string, n: number, spec: MemberSpec) => unknown
  /** Returns a value that differs from `value`; undefined if it has no other. */
  readonly other?: (spec: MemberSpec, value: unknown) => unknown
  /** Returns the values at the bounds, the least first. */
  readonly bounds: (
    spec: MemberSpec,
    inside: (spec: MemberSpec) => readonly unknown[],
  ) => readonly unknown[]
  /** Whether these are all values. */
  readonly isFinite?: boolean

  /** Returns the sentence that documents have without a description. Undefined: the name. */
  readonly words?: (spec: MemberSpec) => string
  /** The `format` of its schema, or `x-text`, and the words that the docs have for it. */
  readonly format?: readonly [name: string, words: string]
  /** Undefined: its text, and filters with any text. */
  readonly input?: FieldInput
}

/** How the console shows the value, and has it in forms and filters. */
interface FieldInput {
  /** The form of a text that is not free: "An instant, for example 2026-11-24T14:00:00Z." */
  readonly hint?: string
  /** Whether the text has no form: one of many characters has a text area. */
  readonly isFreeText?: boolean
  /** Whether the text is an instant, which pages show by the reader's clock. */
  readonly isInstant?: boolean
  /** The filter of a list. Undefined: the whole value. */
  readonly filter?: InputFilter
}

export interface InputFilter {
  /** The form of one value, which the pages verify. Undefined: any text. */
  readonly pattern?: string
  /** Examples of filters: "500, >=500 or 100..500". */
  readonly words?: string
  /** The example of an empty filter. */
  readonly example?: string
  /** Whether a filter can be a range: `1..5`. */
  readonly isRange?: boolean
  /** Whether a filter can have several values: `a,b`. */
  readonly isList?: boolean
}
