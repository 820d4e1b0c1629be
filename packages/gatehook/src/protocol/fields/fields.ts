/**
 * The fields of a declaration: `f.int().min(1)`. A field is data (`FieldSpec`), from which other
 * files derive SQL columns, JSON Schema and validation. Types infer from the chain. The bodies of
 * the engine's own operations have more kinds of members (`members.ts`).
 */
import {
  findUnknownMembers,
  reportMistakes,
  type Shape,
  type ShapeOf,
} from './declaration-mistakes.ts'
import type { FieldKind, FieldWrite, MemberSpec } from './spec.ts'

/** A declared field as data, from which its column, schema and validation follow. */
export interface FieldSpec extends MemberSpec {
  readonly kind: FieldKind
  /** The effect of the deletion of the row that a `ref` refers to. Default: `restrict`. */
  readonly onDelete?: 'restrict' | 'cascade' | 'setNull'
  /** The resource that a `ref` refers to. */
  readonly target?: string
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

/** The call that declared an expression, for the file and the line of a mistake. */
export const derivationSite = new WeakMap<DerivedSql, Error>()

const DEFAULT_STRING_MAX = 255
const EMAIL_MAX = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets
const URL_MAX = 2048
const METADATA_KEYS_MAX = 50
const METADATA_VALUE_MAX = 500
const JSON_MAX = 16_384

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
  default(value: V): Field<V, W extends 'never' ? W : 'optional'> {
    return this.#with({
      default: value,
      write: this.spec.write === 'never' ? 'never' : 'optional',
    })
  }

  /** Clients can only read it; actions and the team's code write it. */
  readonly(): Field<V, 'never'> {
    return this.#with({ write: 'never' })
  }

  /**
   * The minimum: of a number or a decimal, as a number (`.min(0.001)`), of a text's characters, an
   * array's items, a duration's milliseconds.
   */
  min(bound: number): Field<V, W> {
    return this.#with({ min: bound })
  }

  /**
   * The maximum: of a number or a decimal, as a number, of the characters of a text or of JSON, of
   * an array's items, of a duration's milliseconds. A text and JSON have at most 65,536 characters;
   * a text that `list` or `unique` indexes has at most 600.
   */
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

  /** Clients set it when they create the row, and cannot change it (422 `read_only`). */
  writeOnce(): Field<V, W> {
    return this.#with({ isWriteOnce: true })
  }

  /** A column has the computed value, so that lists filter and sort by it. */
  stored(): Field<V, W> {
    return this.#with({ computed: 'stored' })
  }

  /**
   * Clients write it, and no response and no event returns it. Handlers and rules read it. The
   * request log never stores the value, and lists cannot filter or sort by it.
   */
  writeOnly(): Field<V, W> {
    return this.#with({ isWriteOnly: true, isSecret: true })
  }

  /**
   * Responses have the field for callers with this scope only. For others it is no filter, no sort
   * and no value of `fields=`. Events never have it.
   */
  visible(scope: string): Field<V, W> {
    return this.#with({ visibleTo: scope })
  }

  /** Clients need this scope to write it (422 `read_only`). Others have the default. */
  writable(scope: string): Field<V, W> {
    return this.#with({ writableBy: scope })
  }

  /**
   * The effect on this row when the row it refers to is deleted. `restrict`, the default, rejects
   * the deletion (409), `cascade` deletes this row too, `setNull` clears the field. Each change has
   * its event; a deletion beyond the bounds of a change is 413 `change_too_large`.
   */
  onDelete(effect: 'restrict' | 'cascade' | 'setNull'): Field<V, W> {
    return this.#with({ onDelete: effect })
  }

  /** The request log never stores the value. Lists cannot filter or sort by it: logs have URLs. */
  secret(): Field<V, W> {
    return this.#with({ isSecret: true })
  }

  /** The unit of a number or a decimal, for OpenAPI, the docs and the console: `cent`, `kg`. */
  unit(unit: string): Field<V, W> {
    return this.#with({ unit })
  }

  /** Adds a sentence for OpenAPI and the docs. */
  describe(sentence: string): Field<V, W> {
    return this.#with({ description: sentence })
  }
}

const field = <V>(kind: FieldKind, more: Partial<FieldSpec> = {}): Field<V, 'required'> =>
  new Field({ kind, write: 'required', nullable: false, ...more })

/** Returns the data of a field, and that of a text for what plain JavaScript passes instead. */
function specOf(call: string, type: unknown): FieldSpec {
  if (type instanceof Field) return type.spec
  reportMistakes([`${call} requires a field, for example f.string()`])
  return f.string().spec
}

function valuesOf<T extends readonly string[]>(values: T): readonly string[] {
  if (Array.isArray(values)) return values
  reportMistakes(["f.oneOf() requires an array of texts: f.oneOf(['open', 'shut'])"])
  return ['open', 'shut']
}

/** Returns the text of an expression. Flags have no equivalent in JSON Schema. */
function sourceOf(pattern: RegExp): string {
  if (!(pattern instanceof RegExp)) {
    reportMistakes(['f.pattern() requires a regular expression: f.pattern(/^[a-z]+$/)'])
    return '^[a-z]+$'
  }
  const { source, flags } = pattern
  if (flags.replace('u', '') !== '') {
    reportMistakes([`f.pattern(/${source}/${flags}): write the pattern without flags`])
  }
  return source
}

const reportUnknown = (call: string, options: unknown, shape: Shape): void =>
  reportMistakes(findUnknownMembers(options, shape).map((mistake) => `${call}: ${mistake}`))

/** The options of `f.array(item, {…})`. */
interface ArraySize {
  readonly max: number
  readonly min?: number
}

const arraySize = { max: true, min: true } as const satisfies ShapeOf<ArraySize>
const derivedSql = { sqlite: true, postgres: true } as const satisfies ShapeOf<DerivedSql>

function declareId(prefix: string): Field<string, 'never'>
function declareId(): Field<number, 'never'>
function declareId(prefix?: string): Field<number | string, 'never'> {
  const form = prefix === undefined ? { min: 1 } : { idPrefix: prefix }
  return new Field({ kind: 'id', write: 'never', nullable: false, ...form })
}

function declareRef(target: string, prefix: string): Field<string, 'required'>
function declareRef(target: string): Field<number, 'required'>
function declareRef(target: string, prefix?: string): Field<number | string, 'required'> {
  return field('ref', { target, ...(prefix === undefined ? { min: 1 } : { idPrefix: prefix }) })
}

export const f = {
  /**
   * The id of the row: an integer that the database generates and never reuses (§6.8). With a
   * prefix, `f.id('bk')`, it is a text, `bk_0VhKq3ZrT4mXw9sLd2fGhJ`: ids sort by the time of
   * creation, and strangers cannot guess them (§6.16).
   */
  id: declareId,
  /**
   * The id of a row of another resource, with the same customer and mode. If those ids have a
   * prefix, name it: `f.ref('bookings', 'bk')`.
   */
  ref: declareRef,
  /** Text of at most 255 characters, or `.max()`. */
  string: (): Field<string, 'required'> => field('string', { max: DEFAULT_STRING_MAX }),
  /** An e-mail address, compared without case, by NFC and lower case of Unicode (§4.8). */
  email: (): Field<string, 'required'> => field('email', { max: EMAIL_MAX }),
  /** An absolute http or https URL of the characters of RFC 3986, stored as it was sent. */
  url: (): Field<string, 'required'> => field('url', { max: URL_MAX }),
  /** An ISO 4217 code, for example `EUR`. */
  currency: (): Field<string, 'required'> => field('currency'),
  /** A UUID (RFC 9562) in lower case. */
  uuid: (): Field<string, 'required'> => field('uuid'),
  /**
   * Text that matches a regular expression from `^` to `$`. The next character decides how the
   * match continues, so that no text takes long: `f.pattern(/^[a-z]+(-[a-z]+)*$/)`.
   */
  pattern: (pattern: RegExp): Field<string, 'required'> =>
    field('pattern', { pattern: sourceOf(pattern), max: DEFAULT_STRING_MAX }),
  /** One of the given texts. */
  oneOf: <const T extends readonly [string, ...string[]]>(
    values: T,
  ): Field<T[number], 'required'> => field('oneOf', { values: valuesOf(values) }),
  /** An integer between -(2^53-1) and 2^53-1. */
  int: (): Field<number, 'required'> => field('int'),
  /**
   * An exact decimal: `f.decimal(12, 2)` has 12 digits, 2 of them after the point. Text in JSON
   * and in rows: `"12.50"`. At most 15 digits.
   */
  decimal: (precision: number, scale: number): Field<string, 'required'> =>
    field('decimal', { precision, scale }),
  /** A floating-point number (IEEE 754 double). Not for money. */
  number: (): Field<number, 'required'> => field('number'),
  /** `true` or `false`. */
  bool: (): Field<boolean, 'required'> => field('bool'),
  /** An instant: ISO 8601 on the wire, epoch milliseconds in rows and handlers (§6.5). */
  time: (): Field<number, 'required'> => field('time'),
  /** A day of the calendar, without a time zone: `2026-01-31`. */
  date: (): Field<string, 'required'> => field('date'),
  /** A time of day, without a day and a time zone: `09:30:00`. `09:30` has the seconds `00`. */
  timeOfDay: (): Field<string, 'required'> => field('timeOfDay'),
  /**
   * A duration in weeks, days, hours, minutes and seconds: ISO 8601 on the wire, `PT1H30M`,
   * milliseconds in rows and handlers.
   */
  duration: (): Field<number, 'required'> => field('duration', { min: 0 }),
  /**
   * An object with declared members: `f.object({ city: f.string(), zip: f.string().nullable() })`.
   * A patch changes the members that it has (RFC 7396).
   */
  object: <const M extends Fields>(members: M): Field<RowOf<M>, 'required'> =>
    field('object', {
      members: Object.fromEntries(
        Object.entries(members ?? {}).map(([name, member]) => [name, specOf('f.object()', member)]),
      ),
    }),
  /** A list of at most `max` values: `f.array(f.string(), { max: 10 })`. A patch replaces it. */
  array: <V>(item: Field<V, FieldWrite>, size: ArraySize): Field<readonly V[], 'required'> => {
    reportUnknown('f.array(item, size)', size, arraySize)
    const { max, min } = size ?? {}
    const bounds = { max, ...(min !== undefined && { min }) }
    return field('list', { ...bounds, items: specOf('f.array()', item) })
  },
  /**
   * At most 50 texts of the client by key, `{}` by default. A key has 1 to 40 of A-Z, a-z, 0-9,
   * `_`, `.` and `-`, a text at most 500 characters. A patch adds and changes keys, and removes
   * those that are null.
   */
  metadata: (): Field<Readonly<Record<string, string>>, 'optional'> =>
    new Field({
      kind: 'metadata',
      write: 'optional',
      nullable: false,
      default: {},
      max: METADATA_KEYS_MAX,
      items: { kind: 'string', write: 'required', nullable: false, max: METADATA_VALUE_MAX },
    }),
  /** Any JSON value except null: 16,384 characters, or `.max()`. A patch merges objects. */
  json: (): Field<unknown, 'required'> => field('json', { max: JSON_MAX }),
  /**
   * A value that `.compute(name, …)` of the resource derives from the other fields:
   * `f.computed(f.int())`. It is no column unless it is `.stored()`, and clients only read it.
   */
  computed: <V>(type: Field<V, FieldWrite>): Field<V, 'never'> =>
    new Field({ ...specOf('f.computed()', type), write: 'never', computed: 'read' }),
  /**
   * A value that the database derives from the other columns of the row: `f.derived(f.int(),
   * 'price * count')`, or `{ sqlite, postgres }` with a text for each database. It is no column;
   * clients only read it. Declared in `list`, it filters and sorts. At most 1,000 characters.
   */
  derived: <V>(type: Field<V, FieldWrite>, sql: string | DerivedSql): Field<V, 'never'> => {
    reportUnknown('f.derived(type, sql)', sql, derivedSql)
    const derived = typeof sql === 'string' ? { sqlite: sql, postgres: sql } : sql
    const site = new Error()
    Error.captureStackTrace(site, f.derived)
    if (typeof derived === 'object' && derived !== null) derivationSite.set(derived, site)
    return new Field({
      ...specOf('f.derived()', type),
      write: 'never',
      computed: 'derived',
      derived,
    })
  },
  /** The instant at which the engine created the row. */
  createdAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'created' }),
  /** The instant of the last change of the row, which the engine sets. */
  updatedAt: (): Field<number, 'never'> =>
    new Field({ kind: 'time', write: 'never', nullable: false, stamp: 'updated' }),
} as const

/** Reports arguments that a kind does not take: plain JavaScript expects `f.string({ max: 9 })`. */
for (const [name, kind] of Object.entries(f) as [keyof typeof f, (...args: never[]) => unknown][]) {
  const declare = (...args: never[]) => {
    if (args.length > kind.length) {
      const accepted = kind.length === 0 ? 'no argument' : `at most ${kind.length} arguments`
      reportMistakes([
        `f.${name}() takes ${accepted}; its methods set the rest, for example .nullable()`,
      ])
    }
    return kind(...args)
  }
  Object.assign(f, { [name]: declare })
}

// biome-ignore lint/suspicious/noExplicitAny: the type of any field
export type AnyField = Field<any, FieldWrite>
export type Fields = Readonly<Record<string, AnyField>>

type FieldValue<F> = F extends Field<infer V, FieldWrite> ? V : never
type NamesWith<F extends Fields, W extends FieldWrite> = {
  [K in keyof F]: F[K] extends Field<infer _, infer W2> ? (W2 extends W ? K : never) : never
}[keyof F]
/** The names of the fields that clients never write. */
export type ReadOnlyName<F extends Fields> = NamesWith<F, 'never'> & string
export type Flat<T> = { [K in keyof T]: T[K] } & {}

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
