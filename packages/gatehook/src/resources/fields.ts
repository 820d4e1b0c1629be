/**
 * The vocabulary of a declaration: `f.int().min(1)`. A field is data (`FieldSpec`); SQL columns,
 * JSON Schema, validation and the wire form are made from it elsewhere. Types infer from the
 * chain.
 */
import { isSqlWord } from './reserved.ts'

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

/** Whether a client must, may or cannot send the field when it creates a row. */
export type Write = 'required' | 'optional' | 'never'

export interface FieldSpec {
  readonly kind: FieldKind
  readonly write: Write
  readonly nullable: boolean
  /** As stored; undefined where there is none. */
  readonly default?: string | number | boolean | null
  /** Bounds of a number, or of a string's length in characters. */
  readonly min?: number
  readonly max?: number
  readonly values?: readonly string[]
  /** The resource a `ref` points to. */
  readonly target?: string
  readonly owner?: boolean
  readonly unique?: boolean
  readonly stamp?: 'created' | 'updated'
  readonly description?: string
}

const DEFAULT_STRING_MAX = 255
/** Longest text a field may declare; longer things are files, not fields. */
const STRING_MAX = 65_536
const EMAIL_MAX = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets
const URL_MAX = 2048

declare const value: unique symbol
declare const write: unique symbol

/** One field under declaration. Every method gives a new field; nothing is changed in place. */
export class Field<V, W extends Write> {
  readonly spec: FieldSpec
  declare readonly [value]: V
  declare readonly [write]: W

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  #with<V2, W2 extends Write>(more: Partial<FieldSpec>): Field<V2, W2> {
    return new Field<V2, W2>({ ...this.spec, ...more })
  }

  /** `null` is a value too. Needs a default where clients should be free to leave it out. */
  nullable(): Field<V | null, W> {
    return this.#with({ nullable: true })
  }

  /** Used where a client leaves the field out; also fills the column of rows that exist already. */
  default(
    value: V & (string | number | boolean | null),
  ): Field<V, W extends 'never' ? W : 'optional'> {
    return this.#with({
      default: value,
      write: this.spec.write === 'never' ? 'never' : 'optional',
    })
  }

  /** Clients read it; only actions and the service's own code write it. */
  readonly(): Field<V, 'never'> {
    return this.#with({ write: 'never' })
  }

  /** Least number, or least length of a string. */
  min(bound: number): Field<V, W> {
    return this.#with({ min: bound })
  }

  /** Largest number, or largest length of a string. */
  max(bound: number): Field<V, W> {
    return this.#with({ max: bound })
  }

  /** No two rows of one customer and mode share the value (409 `conflict`). */
  unique(): Field<V, W> {
    return this.#with({ unique: true })
  }

  /** The field names the person a row belongs to: a person sees own rows only (§6.7). */
  owner(): Field<V, W> {
    return this.#with({ owner: true })
  }

  /** One sentence for OpenAPI and the docs. */
  describe(sentence: string): Field<V, W> {
    return this.#with({ description: sentence })
  }
}

const field = <V>(kind: FieldKind, more: Partial<FieldSpec> = {}): Field<V, 'required'> =>
  new Field({ kind, write: 'required', nullable: false, ...more })

export const f = {
  /** The row's integer id, made by the database and never given again (§6.8). */
  id: (): Field<number, 'never'> =>
    new Field({ kind: 'id', write: 'never', nullable: false, min: 1 }),
  /** The id of a row of another resource, of the same customer and mode. */
  ref: (target: string): Field<number, 'required'> => field('ref', { target, min: 1 }),
  /** Text, at most 255 characters unless `.max()` says otherwise. */
  string: (): Field<string, 'required'> => field('string', { max: DEFAULT_STRING_MAX }),
  /** An e-mail address; compares without case (§6.8). */
  email: (): Field<string, 'required'> => field('email', { max: EMAIL_MAX }),
  /** An absolute http or https URL. */
  url: (): Field<string, 'required'> => field('url', { max: URL_MAX }),
  /** An ISO 4217 code, for example `EUR`. */
  currency: (): Field<string, 'required'> => field('currency'),
  /** One of these texts. */
  oneOf: <const T extends readonly [string, ...string[]]>(
    values: T,
  ): Field<T[number], 'required'> => field('oneOf', { values }),
  /** A whole number, at most 2^53-1 either way. */
  int: (): Field<number, 'required'> => field('int'),
  /** A number with a fraction (IEEE 754 double). Not for money. */
  number: (): Field<number, 'required'> => field('number'),
  /** `true` or `false`. */
  bool: (): Field<boolean, 'required'> => field('bool'),
  /** An instant: ISO 8601 on the wire, epoch milliseconds in rows and handlers (§6.5). */
  time: (): Field<number, 'required'> => field('time'),
  /** The instant the row was made; the engine sets it. */
  createdAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'created' }),
  /** The instant the row last changed; the engine sets it. */
  updatedAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'updated' }),
} as const

// biome-ignore lint/suspicious/noExplicitAny: stands for every field
export type AnyField = Field<any, Write>
export type Fields = Readonly<Record<string, AnyField>>

type Value<F> = F extends Field<infer V, Write> ? V : never
type Named<F extends Fields, W extends Write> = {
  [K in keyof F]: F[K] extends Field<infer _, infer W2> ? (W2 extends W ? K : never) : never
}[keyof F]
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** A row as handlers see it: stored values, times in epoch milliseconds. */
export type RowOf<F extends Fields> = Flat<{ readonly [K in keyof F]: Value<F[K]> }>

/** What a client sends to create a row. */
export type CreateOf<F extends Fields> = Flat<
  { [K in Named<F, 'required'>]: Value<F[K]> } & { [K in Named<F, 'optional'>]?: Value<F[K]> }
>

/** What a client may change. */
export type PatchOf<F extends Fields> = Flat<{
  [K in Named<F, 'required' | 'optional'>]?: Value<F[K]>
}>

/** A mistake in a declaration: told to the developer at start, never to a caller. */
export class DeclarationError extends Error {}

/** Throws `DeclarationError` when a field contradicts itself. */
export function checkField(name: string, spec: FieldSpec): void {
  const wrong = (why: string) => new DeclarationError(`field ${name}: ${why}`)
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
    throw wrong('names are snake_case, at most 63 characters')
  if (name === 'scope') throw wrong('"scope" is the engine\'s own column; choose another name')
  if (isSqlWord(name)) throw wrong('is a word of SQL; choose another name')
  const text = ['string', 'email', 'url'].includes(spec.kind)
  const bounded = text || ['int', 'number', 'id', 'ref'].includes(spec.kind)
  if (!bounded && (spec.min !== undefined || spec.max !== undefined)) {
    throw wrong(`${spec.kind} takes no min or max`)
  }
  if (text && (spec.max ?? 0) > STRING_MAX) throw wrong(`max is at most ${STRING_MAX}`)
  if (spec.min !== undefined && spec.max !== undefined && spec.min > spec.max) {
    throw wrong('min is above max')
  }
  if (spec.default === null && !spec.nullable) throw wrong('the default is null; add .nullable()')
  if (spec.values && new Set(spec.values).size < spec.values.length) {
    throw wrong('a value stands twice')
  }
  if (spec.owner && spec.kind !== 'ref') throw wrong('.owner() goes with f.ref(…)')
}
