/** `GET /admin/resources`: the declared resources, from which this page draws any of them. */

export interface ResourceField {
  readonly name: string
  readonly type: string
  /** The collection to which a reference refers. */
  readonly of: string | null
  /** The prefix of ids that are texts, also of a reference. */
  readonly id_prefix: string | null
  readonly values: readonly string[] | null
  readonly min: number | null
  readonly max: number | null
  readonly default: unknown
  readonly nullable: boolean
  readonly writable: boolean
  readonly required: boolean
  /** The states in which clients can change it; null: every state. */
  readonly editable_in: readonly string[] | null
  /** Whether no response has it. */
  readonly write_only: boolean
  /** The unit of a number. */
  readonly unit: string | null
  readonly describe: string | null
  readonly input: FieldInput
}

/** How a form has the value, and how tables show it. */
interface FieldInput {
  /** The type of the JSON. `any`: a form has the JSON text. */
  readonly json: string
  readonly hint: string | null
  /** A value of a body, for examples. */
  readonly example: unknown
  /** Whether the text has no form. */
  readonly free_text: boolean
  readonly instant: boolean
  readonly amount: boolean
  readonly filter: {
    /** The pattern of one value; null: any text. */
    readonly pattern: string | null
    readonly words: string | null
    readonly example: string | null
    readonly range: boolean
    readonly list: boolean
    /** Whether it names a key of the value: `labels:key=value`. */
    readonly keys: boolean
  }
}

export interface ResourceAction {
  readonly name: string
  /** The states in which it is possible; null: every state. */
  readonly from: readonly string[] | null
  readonly to: string | null
  readonly emits: string | null
  readonly input: readonly ResourceField[]
}

export interface Resource {
  readonly name: string
  /** The field that names a row for people. */
  readonly label: string | null
  readonly fields: readonly ResourceField[]
  readonly filter: readonly string[]
  readonly sort: readonly string[]
  readonly access: Readonly<Record<'read', string>> &
    Readonly<Record<'create' | 'update' | 'delete', string | null>>
  readonly actions: readonly ResourceAction[]
  /** The sign-in name, if rows are persons. */
  readonly signs_in: string | null
  readonly count: number | null
}

export interface Overview {
  readonly version: string
  readonly versions: readonly string[]
  readonly resources: readonly Resource[]
}

/** A row of any resource. */
export type DataRow = Readonly<Record<string, unknown>> & { readonly id: number | string }

/** The field that actions change. */
export const STATE_FIELD = 'status'

/** One customer and mode, in which a version of the API is used. */
export interface DataScope {
  readonly customer: string
  readonly mode: string
  readonly version: string
}

/** The path of a collection under the authority of an operator. */
export const rowsPath = ({ customer, mode, version }: DataScope, collection: string): string =>
  `/admin/as/${encodeURIComponent(customer)}/${mode}/api/${version}/${collection}`

/** Returns the name of a row for people: its label, or `things/7`. */
export function rowName({ name, label }: Resource, row: DataRow): string {
  const text = label === null ? undefined : row[label]
  return typeof text === 'string' && text !== '' ? text : `${name}/${row.id}`
}

/** Returns the row's state, if actions depend on it. */
export const stateOf = (row: DataRow): string | undefined => {
  const state = row[STATE_FIELD]
  return typeof state === 'string' ? state : undefined
}
