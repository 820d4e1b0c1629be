/**
 * The members of the engine's own bodies: `b.line(100).optional()`. A member is data (`MemberSpec`)
 * like a declared field; `reader.ts` validates it, `schema.ts` describes it. Types infer from the
 * chain. Each member has two types: its value in the program, and its JSON.
 */
import type { Flat } from './fields.ts'
import type { ColumnSpec, ColumnSpecs, MemberSpec, RejectValue } from './spec.ts'

/** The columns of an object: those of its members, of members inside, and of its state. */
export type ColumnsOf<J> = Readonly<
  Partial<Record<(keyof J & string) | `${keyof J & string}.${string}` | 'state', ColumnSpec>>
>

declare const valueType: unique symbol
declare const jsonType: unique symbol

/** A member under declaration. It is immutable: every method returns a new member. */
export class Member<V, J = V> {
  readonly spec: MemberSpec
  declare readonly [valueType]: V
  declare readonly [jsonType]: J

  constructor(spec: MemberSpec) {
    this.spec = spec
  }

  #with<V2, J2>(more: Partial<MemberSpec>): Member<V2, J2> {
    return new Member<V2, J2>({ ...this.spec, ...more })
  }

  /** A body may omit the member. */
  optional(): Member<V | undefined, J | undefined> {
    return this.#with({ write: 'optional' })
  }

  /** Also allows `null`. */
  nullable(): Member<V | null, J | null> {
    return this.#with({ nullable: true })
  }

  /** Adds a sentence for OpenAPI. */
  describe(description: string): Member<V, J> {
    return this.#with({ description })
  }

  /** Adds a value for the examples of OpenAPI, as JSON has it. */
  example(example: J): Member<V, J> {
    return this.#with({ example })
  }

  /** The request log never stores the value. */
  secret(): Member<V, J> {
    return this.#with({ isSecret: true })
  }

  /** The handler validates the text, because its mistakes have another status. */
  deferred(): Member<V, J> {
    return this.#with({ isDeferred: true })
  }

  /** Names the schema in OpenAPI documents, where others refer to it. */
  named(name: string): Member<V, J> {
    return this.#with({ name })
  }

  /** Declares the columns of a table of such objects; `state` need be no member. */
  columns(columns: ColumnsOf<J>): Member<V, J> {
    return this.#with({ columns: columns as ColumnSpecs })
  }

  /**
   * Validates a value beyond its kind, and converts it. `check` returns the value, or calls
   * `reject` with the rest of a sentence: "must not hold a password".
   */
  refine<V2 = V>(check: (value: V, reject: RejectValue) => V2 | undefined): Member<V2, J> {
    return this.#with({ refine: check as NonNullable<MemberSpec['refine']> })
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the type of any member
export type AnyMember = Member<any, any>
export type Members = Readonly<Record<string, AnyMember>>

type MemberValue<M> = M extends Member<infer V, infer _> ? V : never
type MemberJson<M> = M extends Member<infer _, infer J> ? J : never
type OptionalNames<M extends Members> = {
  [K in keyof M]: undefined extends MemberValue<M[K]> ? K : never
}[keyof M]

/** The values of a valid body. */
export type ValuesOf<M extends Members> = Flat<
  { readonly [K in Exclude<keyof M, OptionalNames<M>>]: MemberValue<M[K]> } & {
    readonly [K in OptionalNames<M>]?: MemberValue<M[K]>
  }
>

/** The JSON of members. */
type JsonMembers<M extends Members> = Flat<
  { readonly [K in Exclude<keyof M, OptionalNames<M>>]: MemberJson<M[K]> } & {
    readonly [K in OptionalNames<M>]?: MemberJson<M[K]>
  }
>

/** The JSON of a member: `JsonOf<typeof customer>`. */
export type JsonOf<M extends AnyMember> = MemberJson<M>

const member = <V, J = V>(kind: string, more: Partial<MemberSpec> = {}): Member<V, J> =>
  new Member({ kind, write: 'required', nullable: false, ...more })

interface Size {
  readonly min?: number
  readonly max?: number
}

interface TextOptions extends Size {
  readonly format?: string
}

/** A password is secret. */
const textMember = (kind: 'text' | 'pattern', more: Partial<MemberSpec>): Member<string> =>
  member(kind, { ...more, ...(more.format === 'password' && { isSecret: true }) })

export const b = {
  /** One line of text: 1 to `max` characters, without control and invisible characters. */
  line: (max: number): Member<string> => member('line', { min: 1, max }),
  /** Any text, without a maximum in a response. A password is secret. */
  text: (options: TextOptions = {}): Member<string> => textMember('text', options),
  /** Text that matches a pattern from `^` to `$`; `words` complete the message "must be …". */
  matching: (pattern: RegExp, words: string, options: TextOptions = {}): Member<string> =>
    textMember('pattern', { ...options, pattern: pattern.source, words }),
  /** An absolute http or https URL. */
  url: (max: number): Member<string> => member('url', { max }),
  /** An e-mail address. */
  email: (max = 254): Member<string> => member('email', { max }),
  bool: (): Member<boolean> => member('bool'),
  int: (min: number, max = Number.MAX_SAFE_INTEGER): Member<number> => member('int', { min, max }),
  number: (): Member<number> => member('number'),
  /** One of the given texts. */
  oneOf: <const T extends readonly string[]>(values: T): Member<T[number]> =>
    member('oneOf', { values }),
  /** One of the given texts or, in later releases, of more. Callers must expect new values. */
  openSet: (values: readonly string[]): Member<string> => member('oneOf', { values, isOpen: true }),
  /** A response's instant: ISO 8601 in JSON. */
  time: (): Member<number, string> => member('time', { example: '2026-06-01T09:30:00.000Z' }),
  /** A request's instant, or a date as its midnight in UTC, as epoch milliseconds. */
  instant: (): Member<number, string> =>
    member('instant', {
      description: 'An instant. A date is its midnight in UTC.',
      example: '2026-06-01T09:30:00.000Z',
    }),
  list: <V, J>(items: Member<V, J>, size: Size = {}): Member<readonly V[], readonly J[]> =>
    member('list', { ...size, items: items.spec }),
  /** A list whose duplicates are removed. */
  set: <V, J>(items: Member<V, J>, size: Size): Member<readonly V[], readonly J[]> =>
    member('list', { ...size, items: items.spec, isSet: true }),
  object: <M extends Members>(members: M): Member<ValuesOf<M>, JsonMembers<M>> =>
    member('object', { members: specsOf(members) }),
  /** An object with further members, in a response. */
  openObject: <M extends Members>(members: M): Member<ValuesOf<M>, JsonMembers<M>> =>
    member('object', { members: specsOf(members), isOpen: true }),
  /** Any object. */
  anyObject: (): Member<object> => member('object'),
  /** An object with any names. */
  map: <V, J>(
    values: Member<V, J>,
  ): Member<Readonly<Record<string, V>>, Readonly<Record<string, J>>> =>
    member('map', { items: values.spec }),
  /** Any JSON value. */
  json: (): Member<unknown> => member('json'),
  /** A page of a list, in one of the five envelopes (§7.2). */
  page: <V, J>({ spec: items }: Member<V, J>): Member<unknown> =>
    member('page', { items, ...(items.name && { name: `${items.name}List` }) }),
} as const

/** Returns the specs of members by name. */
export const specsOf = (members: Members): Readonly<Record<string, MemberSpec>> =>
  Object.fromEntries(Object.entries(members).map(([name, { spec }]) => [name, spec]))
