/**
 * A field of a declaration, `f.int().min(1)`: its methods, and the types of rows and bodies. A
 * field is data (`FieldSpec`), from which other files derive SQL columns, JSON Schema and
 * validation. Types infer from the chain. The bodies of the engine's own operations have more kinds
 * of members (`members.ts`).
 */
import { reportMistakes } from './declaration-mistakes.ts'
import type { FieldWrite, MemberSpec } from './spec.ts'

/** A declared field as data, from which its column, schema and validation follow. */
export interface FieldSpec extends MemberSpec {
  /** The effect of the deletion of the row that a `ref` refers to. Default: `restrict`. */
  readonly onDelete?: 'restrict' | 'cascade' | 'setNull'
  readonly owner?: boolean
  readonly unique?: boolean
  readonly stamp?: 'created' | 'updated' | 'deleted'
  /** Whether clients can set it only in the body that creates the row. */
  readonly isWriteOnce?: boolean
  /**
   * Whether own code computes it: when a row is read, or in the change that a column stores; or
   * whether the database derives it.
   */
  readonly computed?: 'read' | 'stored' | 'derived'
  /** The SQL expression of a derived field. */
  readonly derived?: DerivedSql
  /** Whether it says who a person is, so that the erasure of the person replaces it (§18.11). */
  readonly isPersonal?: boolean
  /** Whether no response and no event has it. */
  readonly isWriteOnly?: boolean
  /** The scope that a caller needs to read the field, and to write it. */
  readonly visibleTo?: string
  readonly writableBy?: string
}

/** The SQL expression of a derived field on each database. */
export interface DerivedSql {
  readonly sqlite: string
  readonly postgres: string
}

declare const valueType: unique symbol
declare const writeType: unique symbol
declare const jsonType: unique symbol

/**
 * The JSON of a field with a limit: `visible`: only callers with a scope read it; `writeOnly`: none
 * reads it; `writeOnce`: no patch has it; `text`: its maximum is one of characters; `large`: no
 * event has it; `sized`: the type does not tell whether events have it.
 */
type FieldMark = 'visible' | 'writeOnly' | 'writeOnce' | 'text' | 'large' | 'sized'
export interface Marked<M extends FieldMark, X> {
  readonly mark: M
  readonly json: X
}

/** Whether the digits of a number are those of one above 65,536. */
type IsLong<T extends string> =
  T extends `${infer _1}${infer _2}${infer _3}${infer _4}${infer _5}${infer R}`
    ? R extends ''
      ? T extends `${'7' | '8' | '9'}${string}` | `6${'6' | '7' | '8' | '9'}${string}`
        ? true
        : T extends
              | `65${'6' | '7' | '8' | '9'}${string}`
              | `655${'4' | '5' | '6' | '7' | '8' | '9'}${string}`
          ? true
          : T extends `6553${'7' | '8' | '9'}`
            ? true
            : false
      : true
    : false

/** The JSON of `f.string()`. */
export type TextJson = Marked<'text', string>

/** The JSON of a field whose maximum is `N`: of a text, the characters (§15.10). */
type BoundedJson<X, N extends number> = [Extract<MarksOf<X>, 'text'>] extends [never]
  ? X
  : number extends N
    ? Marked<'sized', X>
    : IsLong<`${N}`> extends true
      ? Marked<'large', X>
      : X

/** The JSON of a reference: the id of a row of the resource `T`. */
export interface RefJson<T extends string, Id> {
  readonly target: T
  readonly id: Id
}

/** The JSON of an object with declared members, whose form differs in responses and bodies. */
export interface ObjectJson<M> {
  readonly members: M
}

/**
 * A field under declaration. It is immutable: every method returns a new field. `V`: the type of
 * its values in handlers; `X`: describes its JSON.
 */
export class Field<V, W extends FieldWrite, X = V> {
  readonly spec: FieldSpec
  declare readonly [valueType]: V
  declare readonly [writeType]: W
  declare readonly [jsonType]: X

  constructor(spec: FieldSpec) {
    this.spec = spec
  }

  #with<V2, W2 extends FieldWrite, X2>(more: Partial<FieldSpec>): Field<V2, W2, X2> {
    return new Field<V2, W2, X2>({ ...this.spec, ...more })
  }

  /** Also allows `null`. Add `.default(null)` to make the field optional. */
  nullable(): Field<V | null, W, X | null> {
    return this.#with({ nullable: true })
  }

  /** The value if a client omits the field, and of existing rows when the column is new. */
  default(value: V): Field<V, W extends 'never' ? W : 'optional', X> {
    return this.#with({
      default: value,
      write: this.spec.write === 'never' ? 'never' : 'optional',
    })
  }

  /** Clients can only read it; actions and the team's code write it. */
  readonly(): Field<V, 'never', X> {
    return this.#with({ write: 'never' })
  }

  /**
   * The minimum: of a number or a decimal, as a number (`.min(0.001)`), of a text's characters, an
   * array's items, a duration's milliseconds.
   */
  min(bound: number): Field<V, W, X> {
    return this.#with({ min: bound })
  }

  /**
   * The maximum: of a number or a decimal, as a number, of the characters of a text or of JSON, of
   * an array's items, of a duration's milliseconds. `f.string()` has at most 1,048,576 characters,
   * other texts and JSON 65,536, and a text that `list` or `unique` indexes 600. Events have no
   * field whose maximum is above 65,536.
   */
  max<const N extends number>(bound: N): Field<V, W, BoundedJson<X, N>> {
    return this.#with({ max: bound })
  }

  /** Rows of one customer and mode cannot have the same value (409 `conflict`). */
  unique(): Field<V, W, X> {
    return this.#with({ unique: true })
  }

  /** The field refers to the person that owns the row: persons reach their own rows only (§6.7). */
  owner(): Field<V, W, X> {
    return this.#with({ owner: true })
  }

  /** Clients set it when they create the row, and cannot change it (422 `read_only`). */
  writeOnce(): Field<V, W, Marked<'writeOnce', X>> {
    return this.#with({ isWriteOnce: true })
  }

  /** A column has the computed value, so that lists filter and sort by it. */
  stored(): Field<V, W, X> {
    return this.#with({ computed: 'stored' })
  }

  /**
   * Clients write it, and no response and no event returns it. Handlers and rules read it. The
   * request log never stores the value, and lists cannot filter or sort by it.
   */
  writeOnly(): Field<V, W, Marked<'writeOnly', X>> {
    return this.#with({ isWriteOnly: true, isSecret: true })
  }

  /**
   * Responses have the field for callers with this scope only. For others it is no filter, no sort
   * and no value of `fields=`. Events never have it.
   */
  visible(scope: string): Field<V, W, Marked<'visible', X>> {
    return this.#with({ visibleTo: scope })
  }

  /** Clients need this scope to write it (422 `read_only`). Others have the default. */
  writable(scope: string): Field<V, W, X> {
    return this.#with({ writableBy: scope })
  }

  /**
   * The effect on this row when the row it refers to is deleted. `restrict`, the default, rejects
   * the deletion (409), `cascade` deletes this row too, `setNull` clears the field. Each change has
   * its event; a deletion beyond the bounds of a change is 413 `change_too_large`.
   */
  onDelete(effect: 'restrict' | 'cascade' | 'setNull'): Field<V, W, X> {
    return this.#with({ onDelete: effect })
  }

  /** The request log never stores the value. Lists cannot filter or sort by it: logs have URLs. */
  secret(): Field<V, W, X> {
    return this.#with({ isSecret: true })
  }

  /**
   * It says who a person is. The erasure of the person to whom the row belongs removes the value
   * from rows, events, inputs of jobs and logs: a nullable field becomes null, another one its
   * default, one without a default a placeholder such as `erased-7` (§18.11).
   */
  personal(): Field<V, W, X> {
    return this.#with({ isPersonal: true })
  }

  /** The unit of a number or a decimal, for OpenAPI, the docs and the console: `cent`, `kg`. */
  unit(unit: string): Field<V, W, X> {
    return this.#with({ unit })
  }

  /** Adds a sentence for OpenAPI and the docs. */
  describe(sentence: string): Field<V, W, X> {
    return this.#with({ description: sentence })
  }
}

/** Returns a required field of a kind. */
export const declareField = <V, X = V>(
  kind: string,
  more: Partial<FieldSpec> = {},
): Field<V, 'required', X> => new Field({ kind, write: 'required', nullable: false, ...more })

/** Returns the data of a field, and that of a text for what plain JavaScript passes instead. */
export function specOf(call: string, type: unknown): FieldSpec {
  if (type instanceof Field) return type.spec
  reportMistakes([`${call} requires a field, for example f.string()`])
  return declareField('string').spec
}

// biome-ignore lint/suspicious/noExplicitAny: the type of any field
export type AnyField = Field<any, FieldWrite, any>
export type Fields = Readonly<Record<string, AnyField>>
/** The write of a field inside a value: clients write the value as a whole. */
export type InnerWrite = Exclude<FieldWrite, 'never'>
// biome-ignore lint/suspicious/noExplicitAny: the type of any field
export type InnerFields = Readonly<Record<string, Field<any, InnerWrite, any>>>

type FieldValue<F> = F extends Field<infer V, FieldWrite, infer _> ? V : never
type NamesWith<F extends Fields, W extends FieldWrite> = {
  [K in keyof F]: F[K] extends Field<infer _, infer W2, infer _X>
    ? W2 extends W
      ? K
      : never
    : never
}[keyof F]
/** The write of a field that the engine sets: own code does not write it either. */
export type EngineWrite = 'never' & { readonly setBy: 'engine' }
/** The names of the fields that clients never write. */
export type ReadOnlyName<F extends Fields> = NamesWith<F, 'never'> & string
export type Flat<T> = { [K in keyof T]: T[K] } & {}

/** A row in handlers: stored values, with times in epoch milliseconds. */
export type RowOf<F extends Fields> = Flat<{ readonly [K in keyof F]: FieldValue<F[K]> }>

/** The values of a row that own code can write. */
export type WritableOf<F extends Fields> = Omit<RowOf<F>, NamesWith<F, EngineWrite>>

/** The body that creates a row. */
export type CreateOf<F extends Fields> = Flat<
  { [K in NamesWith<F, 'required'>]: FieldValue<F[K]> } & {
    [K in NamesWith<F, 'optional'>]?: FieldValue<F[K]>
  }
>

/** The values inside a value without the members that have defaults. */
type ShortValue<X> = 0 extends 1 & X
  ? never
  : X extends Marked<infer _, infer Y>
    ? ShortValue<Y>
    : X extends ObjectJson<infer M extends Fields>
      ? NewValuesOf<M>
      : X extends readonly (infer I)[]
        ? [ShortValue<I>] extends [never]
          ? never
          : readonly ShortValue<I>[]
        : never
type NewValue<F> = FieldValue<F> | ShortValue<JsonValue<F>>

/** The values from which own code creates a row: the engine adds defaults, also inside values. */
export type NewValuesOf<F extends Fields> = Flat<
  { readonly [K in NamesWith<F, 'required'>]: NewValue<F[K]> } & {
    readonly [K in NamesWith<F, 'optional'>]?: NewValue<F[K]>
  }
>

/** The body that changes a row. */
export type PatchOf<F extends Fields> = Flat<{
  [K in NamesWith<F, 'required' | 'optional'>]?: FieldValue<F[K]>
}>

export type JsonValue<F> = F extends Field<infer _, FieldWrite, infer X> ? X : never

/** The marks of a field's JSON. */
type MarksOf<X> = X extends Marked<infer M, infer Y> ? M | MarksOf<Y> : never
type NamesMarked<F extends Fields, M> = {
  [K in keyof F]: [Extract<MarksOf<JsonValue<F[K]>>, M>] extends [never] ? never : K
}[keyof F]
type HiddenName<F extends Fields> = NamesMarked<F, 'writeOnly'>
type LimitedName<F extends Fields> = NamesMarked<F, 'visible'>

/** The marks of a field's JSON that say whether events have it, also of the values inside. */
type SizesOf<X> = 0 extends 1 & X
  ? never
  : X extends Marked<infer M, infer Y>
    ? Extract<M, 'large' | 'sized'> | SizesOf<Y>
    : X extends ObjectJson<infer M extends Fields>
      ? { [K in keyof M]: SizesOf<JsonValue<M[K]>> }[keyof M]
      : X extends readonly (infer I)[]
        ? SizesOf<I>
        : never
type LargeName<F extends Fields> = {
  [K in keyof F]: 'large' extends SizesOf<JsonValue<F[K]>> ? K : never
}[keyof F]
type SizedName<F extends Fields> = {
  [K in keyof F]: [SizesOf<JsonValue<F[K]>>] extends [never] ? never : K
}[keyof F]

/** The type of a value in responses and events. */
export type ShownJson<X> =
  X extends Marked<infer _, infer Y>
    ? ShownJson<Y>
    : X extends RefJson<infer _, infer Id>
      ? Id
      : X extends ObjectJson<infer M extends Fields>
        ? WireRowOf<M>
        : X extends readonly (infer I)[]
          ? readonly ShownJson<I>[]
          : X

/** The type of a field's value in responses. */
export type FieldJson<F> = ShownJson<JsonValue<F>>

/** The fields that every response has, and every event unless they are too large. */
type OpenName<F extends Fields> = Exclude<keyof F, HiddenName<F> | LimitedName<F>>

/**
 * A row as events have it: JSON values, without fields that need a scope, are write-only or too
 * large. A field can be absent whose maximum the declaration does not write as a number.
 */
export type EventRowOf<F extends Fields> = Flat<
  {
    readonly [K in Exclude<OpenName<F>, SizedName<F>>]: FieldJson<F[K]>
  } & {
    readonly [K in Exclude<OpenName<F> & SizedName<F>, LargeName<F>>]?: FieldJson<F[K]>
  }
>

/** A row in responses: a field that needs a scope can be absent. */
export type WireRowOf<F extends Fields> = Flat<
  { readonly [K in OpenName<F>]: FieldJson<F[K]> } & {
    readonly [K in Exclude<LimitedName<F>, HiddenName<F>>]?: FieldJson<F[K]>
  }
>

/** The type of a value in bodies: an object has its members as a new row has its fields. */
type SentJson<X> =
  X extends Marked<infer _, infer Y>
    ? SentJson<Y>
    : X extends RefJson<infer _, infer Id>
      ? Id
      : X extends ObjectJson<infer M extends Fields>
        ? WireCreateOf<M>
        : X extends readonly (infer I)[]
          ? readonly SentJson<I>[]
          : X

/** The JSON of the body that creates a row. */
export type WireCreateOf<F extends Fields> = Flat<
  { readonly [K in NamesWith<F, 'required'>]: SentJson<JsonValue<F[K]>> } & {
    readonly [K in NamesWith<F, 'optional'>]?: SentJson<JsonValue<F[K]>>
  }
>

/** The type of a value in a merge patch, which changes the members that it has (RFC 7396). */
type PatchValueOf<X> =
  X extends Marked<infer _, infer Y>
    ? PatchValueOf<Y>
    : X extends ObjectJson<infer M extends Fields>
      ? { readonly [K in keyof M]?: PatchValueOf<JsonValue<M[K]>> }
      : X extends Readonly<Record<string, string>>
        ? Readonly<Record<string, string | null>>
        : SentJson<X>

/** The JSON of the body that changes a row. */
export type WirePatchOf<F extends Fields> = Flat<{
  readonly [K in Exclude<
    NamesWith<F, 'required' | 'optional'>,
    NamesMarked<F, 'writeOnce'>
  >]?: PatchValueOf<JsonValue<F[K]>>
}>
