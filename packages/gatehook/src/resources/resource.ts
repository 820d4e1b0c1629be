/**
 * `resource(name, {…}).action(…).before(…)`: the declaration and its types. Data stands in the
 * object, functions in the chain, so that everything infers. What comes out is a `Definition`,
 * plain data and functions without types, which the rest of the room works from.
 */
import type { Change } from '../versions/change.ts'
import {
  type CreateOf,
  checkField,
  DeclarationError,
  type FieldSpec,
  type Fields,
  type RowOf,
} from './fields.ts'
import { isSqlWord } from './reserved.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows are untyped below the declaration
export type AnyRow = Record<string, any>

/** The field whose values actions move between (`from`, `to`). */
export const STATE_FIELD = 'status'

export interface ActionDefinition {
  readonly name: string
  readonly scope: string
  readonly from: readonly string[] | undefined
  readonly to: string | undefined
  readonly emits: string | undefined
  readonly input: Readonly<Record<string, FieldSpec>>
  readonly run: ((args: { row: AnyRow; input: AnyRow }) => AnyRow | undefined) | undefined
}

export interface Definition {
  readonly name: string
  readonly fields: Readonly<Record<string, FieldSpec>>
  readonly filter: readonly string[]
  /** Every field that lists are sorted by, those of tuples included. */
  readonly sort: readonly string[]
  /** Fields that sort alone, and tuples; an index serves each of them. */
  readonly sortIndexes: readonly (readonly string[])[]
  readonly access: Access
  readonly events: readonly string[]
  readonly actions: readonly ActionDefinition[]
  readonly changes: readonly Change[]
  readonly links: ((row: AnyRow) => Record<string, string>) | undefined
  readonly checks: readonly ((row: AnyRow) => Record<string, string> | undefined)[]
  readonly sample: ((n: number) => AnyRow) | undefined
  /** The field a person signs in with, where this resource's rows can (§6.3). */
  readonly signsIn:
    | { readonly username: string; readonly scopes?: readonly string[] | undefined }
    | undefined
  /** The reference through which a row gets its owner (§6.7). */
  readonly ownedBy: string | undefined
  readonly editable: readonly EditableRule[]
}

/** Fields that clients change only while the row is in one of these states. */
export interface EditableRule {
  readonly fields: readonly string[]
  readonly from: readonly string[]
}

/** Scopes of the four operations; `false`: the operation does not exist. */
export interface Access {
  /** Or `public`: anonymous callers read the live rows of the customer `default` (§6.10). */
  readonly read: string
  readonly create: string | false
  readonly update: string | false
  readonly delete: string | false
  /**
   * What persons may do with rows that have no owner, given the scope; without it, nothing (§6.7).
   */
  readonly persons?: 'read' | 'write'
}

export interface ResourceOptions<F extends Fields> {
  /** Name → field; the first is `id: f.id()`. Columns, members of JSON and types follow. */
  readonly fields: F
  /**
   * Which fields lists are filtered and sorted by; each gets its index (§7.7). A tuple in `sort`,
   * `['status', 'created_at']`, gets one index that serves its fields in this order, and a filter
   * by the first with a sort by the rest (§7.10).
   */
  readonly list: {
    readonly filter: readonly (keyof F & string)[]
    readonly sort: readonly (
      | (keyof F & string)
      | readonly [keyof F & string, keyof F & string, ...(keyof F & string)[]]
    )[]
  }
  /**
   * The scope that each of `read`, `create`, `update`, `delete` needs; `false`: there is no such
   * operation. `read: 'public'` serves anonymous callers; `persons: 'read' | 'write'` opens rows
   * without an owner to persons (§6.7, §6.10).
   */
  readonly access: Access
  /** `<one>.created`, `.updated`, `.deleted`; what actions emit is declared with them. */
  readonly events: readonly `${string}.${'created' | 'updated' | 'deleted'}`[]
}

type State<F extends Fields> = F extends { readonly status: infer S }
  ? RowOf<{ s: Extract<S, Fields[string]> }>['s']
  : never

export interface ActionOptions<F extends Fields, I extends Fields, E extends string> {
  /** The scope it asks for. */
  readonly scope: string
  /** The states it may start in; without it, any. */
  readonly from?: readonly State<F>[]
  /** The state it leads to. */
  readonly to?: State<F>
  /** The type of the event recorded in its transaction. */
  readonly emits?: E
  /** Fields of its body; without it, the body is empty. */
  readonly input?: I
  /**
   * Further changes to the row, in the same transaction. Pure: time and chance come with the row.
   */
  readonly run?: (args: { row: RowOf<F>; input: RowOf<I> }) => Partial<RowOf<F>> | undefined
}

type Without<S, K> = { readonly [P in keyof S as P extends K ? never : P]: S[P] }
type Older<S, Had extends Fields, K> = {
  [P in keyof (Without<S, K> & RowOf<Had>)]: (Without<S, K> & RowOf<Had>)[P]
}

/**
 * One breaking change: how rows of the version before it looked, and the way up and down (§8.8).
 */
export interface ChangeOptions<
  S,
  Had extends Fields,
  K extends keyof S & string,
  Down extends RowOf<Had> = RowOf<Had>,
> {
  /** The reason, as users read it in the changelog. */
  readonly why: string
  /** Fields the older version had in place of `hadNot`. */
  readonly had: Had
  /**
   * Fields of the newer version that the older one had not, in the order of what they were made
   * from.
   */
  readonly hadNot: readonly K[]
  /** From the older shape, the fields in `hadNot`. */
  readonly up: (old: Older<S, Had, K>) => Pick<S, NoInfer<K>>
  /** From the newer shape, the fields in `had`. */
  readonly down: (row: S) => Down
  /** Fields that changed their name only: filters and sorts by the old name mean the new one. */
  readonly renamed?: Readonly<Partial<Record<keyof Had & string, K>>>
}

/**
 * A resource under declaration. `S` is the shape in the oldest version declared so far: each
 * `.before()` works on the one above it, the newest change first.
 */
export class Resource<F extends Fields, S = RowOf<F>> {
  readonly definition: Definition
  declare readonly fields: F
  declare readonly shape: S

  constructor(definition: Definition) {
    this.definition = definition
  }

  #with<S2 = S>(more: Partial<Definition>): Resource<F, S2> {
    return new Resource<F, S2>({ ...this.definition, ...more })
  }

  /**
   * `POST …/{id}/{name}`. `from`: the states it may start in (409 `invalid_state` elsewhere);
   * `to`: the state it leads to; `emits`: the event written in the same transaction.
   */
  action<I extends Fields = Record<never, never>, E extends string = never>(
    name: string,
    options: ActionOptions<F, I, E>,
  ): Resource<F, S> {
    if (!/^[a-z][a-z0-9_-]*$/.test(name)) throw new DeclarationError(`action ${name}: bad name`)
    const action: ActionDefinition = {
      name,
      scope: options.scope,
      from: options.from as readonly string[] | undefined,
      to: options.to as string | undefined,
      emits: options.emits,
      input: specsOf(options.input ?? {}),
      run: options.run as ActionDefinition['run'],
    }
    return this.#with({ actions: [...this.definition.actions, action] })
  }

  /** A rule over the whole row: the fields at fault with a sentence each, or undefined. */
  check(rule: (row: RowOf<F>) => { [K in keyof F]?: string } | undefined): Resource<F, S> {
    const check = rule as Definition['checks'][number]
    return this.#with({ checks: [...this.definition.checks, check] })
  }

  /** Links of a row, by name, relative to the version: `/orders/7`. */
  links(links: (row: RowOf<F>) => { self: string } & Record<string, string>): Resource<F, S> {
    return this.#with({ links: links as Definition['links'] })
  }

  /** The n-th sample row, for seeds, docs and tries. References are filled in by the engine. */
  sample(make: (n: number) => Partial<CreateOf<F>>): Resource<F, S> {
    return this.#with({ sample: make as Definition['sample'] })
  }

  /**
   * Rows of this resource are people who can sign in, by this field (§6.3). A row belongs to
   * itself. `scopes`: what a person may do by default, instead of reading its own row, and reading
   * and writing its rows of resources that have an owner (§6.7).
   */
  signsIn(by: { username: keyof F & string; scopes?: readonly string[] }): Resource<F, S> {
    return this.#with({ signsIn: by })
  }

  /** A row belongs to the person whose row this field refers to (§6.7). */
  ownedBy(field: keyof F & string): Resource<F, S> {
    return this.#with({ ownedBy: field })
  }

  /**
   * Clients change these fields only while `status` is one of `from`; elsewhere a PATCH of them is
   * 422 `read_only`. Actions and the service's own code may.
   */
  editable(
    fields: readonly (keyof F & string)[],
    { from }: { from: readonly State<F>[] },
  ): Resource<F, S> {
    const rule = { fields, from: from as readonly string[] }
    return this.#with({ editable: [...this.definition.editable, rule] })
  }

  /** A breaking change that came with `version`; older versions are served through it (§8.8). */
  before<Had extends Fields, K extends keyof S & string, const Down extends RowOf<Had>>(
    version: string,
    change: ChangeOptions<S, Had, K, Down>,
  ): Resource<F, Older<S, Had, K>> {
    const entry: Change = {
      version,
      why: change.why,
      had: specsOf(change.had),
      hadNot: change.hadNot,
      up: change.up as Change['up'],
      down: change.down as Change['down'],
      renamed: (change.renamed ?? {}) as Change['renamed'],
    }
    return this.#with<Older<S, Had, K>>({ changes: [...this.definition.changes, entry] })
  }
}

// biome-ignore lint/suspicious/noExplicitAny: stands for every resource
export type AnyResource = Resource<any, any>

/** Declares a resource: collection name in the plural, then its fields and rules. */
export function resource<const F extends Fields>(
  name: string,
  options: ResourceOptions<F>,
): Resource<F> {
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(name)) {
    throw new DeclarationError(`resource ${name}: names are snake_case, at most 41 characters`)
  }
  if (isSqlWord(name)) {
    throw new DeclarationError(`resource ${name}: is a word of SQL; choose another name`)
  }
  try {
    requireMembers(options)
    const fields = specsOf(options.fields)
    const sortIndexes = options.list.sort.map((one) => (typeof one === 'string' ? [one] : one))
    const [first] = Object.entries(fields)
    if (first?.[0] !== 'id' || first[1].kind !== 'id') {
      throw new DeclarationError('the first field is `id: f.id()`')
    }
    return new Resource({
      name,
      fields,
      filter: options.list.filter,
      sort: [...new Set(sortIndexes.flat())],
      sortIndexes,
      access: options.access,
      events: options.events,
      actions: [],
      changes: [],
      links: undefined,
      checks: [],
      sample: undefined,
      signsIn: undefined,
      ownedBy: undefined,
      editable: [],
    })
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    throw new DeclarationError(`resource ${name}: ${error.message}`)
  }
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws `DeclarationError` for required members that plain JavaScript left out. */
function requireMembers({ fields, list, access, events }: Partial<ResourceOptions<Fields>>): void {
  const missing = [
    !isObject(fields) && 'fields is required, for example { id: f.id() }',
    !Array.isArray(list?.filter) && 'list.filter is required: an array of field names, or []',
    !Array.isArray(list?.sort) && 'list.sort is required: an array of field names, or []',
    !isObject(access) && 'access is required: a scope or false for read, create, update, delete',
    !Array.isArray(events) && 'events is required: an array of event types, or []',
  ].filter((sentence) => sentence !== false)
  if (missing.length > 0) throw new DeclarationError(missing.join('; '))
}

function specsOf(fields: Fields): Record<string, FieldSpec> {
  const specs: Record<string, FieldSpec> = {}
  for (const [name, field] of Object.entries(fields)) {
    checkField(name, field.spec)
    specs[name] = field.spec
  }
  return specs
}
