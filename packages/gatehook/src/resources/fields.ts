/**
 * The fields of a declaration: `f.int().min(1)`. A field is data (`FieldSpec`), from which other
 * files derive SQL columns, JSON Schema and validation. Types infer from the chain.
 */
import { isSqlWord } from './sql-words.ts'

export type FieldKind =
  | 'id'
  | 'ref'
  | 'string'
  | 'email'
  | 'url'
  | 'currency'
  | 'oneOf'
  | 'int'
  | 'number'
  | 'bool'
  | 'time'

/** Whether a client must, may or must not send the field when it creates a row. */
type FieldWrite = 'required' | 'optional' | 'never'

export interface FieldSpec {
  readonly kind: FieldKind
  readonly write: FieldWrite
  readonly nullable: boolean
  /** The stored value; undefined without a default. */
  readonly default?: string | number | boolean | null
  /** Bounds of a number, or of a string's length in characters. */
  readonly min?: number
  readonly max?: number
  readonly values?: readonly string[]
  /** The resource that a `ref` refers to. */
  readonly target?: string
  readonly owner?: boolean
  readonly unique?: boolean
  readonly stamp?: 'created' | 'updated'
  readonly description?: string
}

const DEFAULT_STRING_MAX = 255
/** The maximum `.max()` of a text, in characters. */
const STRING_MAX = 65_536
const EMAIL_MAX = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets
const URL_MAX = 2048

declare const valueType: unique symbol
declare const writeType: unique symbol

/** A field under declaration. It is immutable: every method returns a new field. */
export class Field<V, W extends FieldWrite> {
  readonly spec: FieldSpec
  declare readonly [valueType]: V
  declare readonly [writeType]: W

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  #with<V2, W2 extends FieldWrite>(more: Partial<FieldSpec>): Field<V2, W2> {
    return new Field<V2, W2>({ ...this.spec, ...more })
  }

  /** Also allows `null`. Add `.default(null)` to make the field optional. */
  nullable(): Field<V | null, W> {
    return this.#with({ nullable: true })
  }

  /** The value if a client omits the field, and of existing rows when the column is new. */
  default(
    value: V & (string | number | boolean | null),
  ): Field<V, W extends 'never' ? W : 'optional'> {
    return this.#with({
      default: value,
      write: this.spec.write === 'never' ? 'never' : 'optional',
    })
  }

  /** Clients can only read it; actions and the team's code write it. */
  readonly(): Field<V, 'never'> {
    return this.#with({ write: 'never' })
  }

  /** The minimum of a number, or the minimum length of a string in characters. */
  min(bound: number): Field<V, W> {
    return this.#with({ min: bound })
  }

  /** The maximum of a number, or the maximum length of a string in characters. */
  max(bound: number): Field<V, W> {
    return this.#with({ max: bound })
  }

  /** Rows of one customer and mode cannot have the same value (409 `conflict`). */
  unique(): Field<V, W> {
    return this.#with({ unique: true })
  }

  /** The field refers to the person that owns the row: persons reach their own rows only (§6.7). */
  owner(): Field<V, W> {
    return this.#with({ owner: true })
  }

  /** Adds a sentence for OpenAPI and the docs. */
  describe(sentence: string): Field<V, W> {
    return this.#with({ description: sentence })
  }
}

const field = <V>(kind: FieldKind, more: Partial<FieldSpec> = {}): Field<V, 'required'> =>
  new Field({ kind, write: 'required', nullable: false, ...more })

export const f = {
  /** The integer id of the row. The database generates it and never reuses it (§6.8). */
  id: (): Field<number, 'never'> =>
    new Field({ kind: 'id', write: 'never', nullable: false, min: 1 }),
  /** The id of a row of another resource, with the same customer and mode. */
  ref: (target: string): Field<number, 'required'> => field('ref', { target, min: 1 }),
  /** Text of at most 255 characters, or `.max()`. */
  string: (): Field<string, 'required'> => field('string', { max: DEFAULT_STRING_MAX }),
  /** An e-mail address, compared without case (§6.8). */
  email: (): Field<string, 'required'> => field('email', { max: EMAIL_MAX }),
  /** An absolute http or https URL. */
  url: (): Field<string, 'required'> => field('url', { max: URL_MAX }),
  /** An ISO 4217 code, for example `EUR`. */
  currency: (): Field<string, 'required'> => field('currency'),
  /** One of the given texts. */
  oneOf: <const T extends readonly [string, ...string[]]>(
    values: T,
  ): Field<T[number], 'required'> => field('oneOf', { values }),
  /** An integer between -(2^53-1) and 2^53-1. */
  int: (): Field<number, 'required'> => field('int'),
  /** A floating-point number (IEEE 754 double). Not for money. */
  number: (): Field<number, 'required'> => field('number'),
  /** `true` or `false`. */
  bool: (): Field<boolean, 'required'> => field('bool'),
  /** An instant: ISO 8601 on the wire, epoch milliseconds in rows and handlers (§6.5). */
  time: (): Field<number, 'required'> => field('time'),
  /** The instant at which the engine created the row. */
  createdAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'created' }),
  /** The instant of the last change of the row, which the engine sets. */
  updatedAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'updated' }),
} as const

// biome-ignore lint/suspicious/noExplicitAny: the type of any field
export type AnyField = Field<any, FieldWrite>
export type Fields = Readonly<Record<string, AnyField>>

type FieldValue<F> = F extends Field<infer V, FieldWrite> ? V : never
type NamesWith<F extends Fields, W extends FieldWrite> = {
  [K in keyof F]: F[K] extends Field<infer _, infer W2> ? (W2 extends W ? K : never) : never
}[keyof F]
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** A row in handlers: stored values, with times in epoch milliseconds. */
export type RowOf<F extends Fields> = Flat<{ readonly [K in keyof F]: FieldValue<F[K]> }>

/** The body that creates a row. */
export type CreateOf<F extends Fields> = Flat<
  { [K in NamesWith<F, 'required'>]: FieldValue<F[K]> } & {
    [K in NamesWith<F, 'optional'>]?: FieldValue<F[K]>
  }
>

/** The body that changes a row. */
export type PatchOf<F extends Fields> = Flat<{
  [K in NamesWith<F, 'required' | 'optional'>]?: FieldValue<F[K]>
}>

/** A mistake in a declaration. The developer sees it at start; callers never do. */
export class DeclarationError extends Error {}

/** Validates a field. Throws `DeclarationError`. */
export function checkField(name: string, spec: FieldSpec): void {
  const mistake = (why: string) => new DeclarationError(`field ${name}: ${why}`)
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
    throw mistake('names are snake_case, at most 63 characters')
  if (name === 'scope') throw mistake('"scope" is the engine\'s own column; choose another name')
  if (isSqlWord(name)) throw mistake('is a reserved word of SQL; choose another name')
  const isText = ['string', 'email', 'url'].includes(spec.kind)
  const hasBounds = isText || ['int', 'number', 'id', 'ref'].includes(spec.kind)
  if (!hasBounds && (spec.min !== undefined || spec.max !== undefined)) {
    throw mistake(`${spec.kind} takes no min or max`)
  }
  if (isText && (spec.max ?? 0) > STRING_MAX) throw mistake(`max is at most ${STRING_MAX}`)
  if (spec.min !== undefined && spec.max !== undefined && spec.min > spec.max) {
    throw mistake('min is above max')
  }
  if (spec.default === null && !spec.nullable) throw mistake('the default is null; add .nullable()')
  if (spec.values && new Set(spec.values).size < spec.values.length) {
    throw mistake('a value occurs twice')
  }
  if (spec.owner && spec.kind !== 'ref') throw mistake('.owner() goes with f.ref(…)')
}
