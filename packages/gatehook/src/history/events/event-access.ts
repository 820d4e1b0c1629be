/**
 * Which events a caller, or the maker of a registration, reads (§9.1, §9.14). The rules come from
 * the declaration; registrations, lists, streams and the outbox apply the same ones. The rule of a
 * type decides, by the kind of the reader: another type may have a scope of the same name. Pure.
 */
import type { Principal } from '../../kernel/principal.ts'
import { matchesAny } from './event-pattern.ts'

/** Implies every scope (§13). */
const ADMIN = 'admin'

export interface EventRule {
  /** The collection of the event's object; undefined for engine and external events. */
  readonly collection: string | undefined
  /** The read scope; undefined where the collection is readable without a credential. */
  readonly scope: string | undefined
  /** Whether a person needs `<collection>:all`: rows have owners, or are closed to persons. */
  readonly owned: boolean
  /** Whether agents read the rows (§16.11). */
  readonly agents: boolean
}

/** A caller, or the maker of a registration with the scopes that it stores. */
export type EventReader = Pick<Principal, 'kind' | 'scopes' | 'isAgent'>

/** The scopes each of which covers a type: for persons, and for those who act for the customer. */
export type Coverage = Readonly<Record<'person' | 'customer', readonly string[]>>

const scopesFor = (coverage: Coverage, { kind }: Pick<EventReader, 'kind'>) =>
  coverage[kind === 'person' ? 'person' : 'customer']

/** @param coverage undefined: no scope is required */
export const isCovered = (coverage: Coverage | undefined, reader: EventReader): boolean =>
  coverage === undefined || scopesFor(coverage, reader).some((scope) => reader.scopes.has(scope))

/** Returns the maker of a registration by the columns of its row. */
export const makerAsReader = (row: {
  /** The person that created it; null for any other creator. */
  readonly subject: string | null
  /** As JSON. */
  readonly scopes: string
}): EventReader => ({
  kind: row.subject === null ? 'key' : 'person',
  scopes: new Set(JSON.parse(row.scopes) as string[]),
})

export interface EventAccess {
  /** Every declared type, and the collection of its objects; undefined: none. */
  readonly collections: ReadonlyMap<string, string | undefined>
  /** Returns the scope that a caller without access to the type lacks. */
  scopeOf(type: string, kind?: Principal['kind']): string
  /** Returns the scopes of a reader that cover event types, for its registrations. */
  readScopesOf(reader: EventReader): ReadonlySet<string>
  /** Returns the scopes that cover a type; undefined: no scope is required. */
  coveredBy(type: string, collection?: string | null): Coverage | undefined
  covers(reader: EventReader, type: string, collection?: string | null): boolean
  /** Returns the types that the reader may read; undefined: all, also undeclared ones. */
  readableTypes(reader: EventReader): readonly string[] | undefined
  /** Returns the first pattern of which the reader may read no type. */
  uncoveredPattern(reader: EventReader, patterns: readonly string[]): string | undefined
  /** Returns the declared types that patterns name and the reader may not read. */
  unreadable(reader: EventReader, patterns: readonly string[]): readonly string[]
  /** Returns the first type that a registration receives and the reader may not read. */
  beyond(reader: EventReader, maker: EventReader, patterns: readonly string[]): string | undefined
}

const UNDECLARED: EventRule = { collection: undefined, scope: ADMIN, owned: false, agents: false }

function coverageOf({ collection, scope, owned }: EventRule): Coverage | undefined {
  if (scope === undefined) return undefined
  const customer = [scope, ADMIN]
  if (collection === undefined) return { person: customer, customer }
  const all = `${collection}:all`
  return { person: owned ? [all, ADMIN] : [scope, all, ADMIN], customer }
}

export function createEventAccess(rules: ReadonlyMap<string, EventRule>): EventAccess {
  const byCollection = new Map(
    [...rules.values()].flatMap((rule) =>
      rule.collection === undefined ? [] : [[rule.collection, rule] as const],
    ),
  )
  const ruleOf = (type: string, collection?: string | null): EventRule =>
    rules.get(type) ?? byCollection.get(collection ?? '') ?? UNDECLARED
  const coverages = new Map([...rules.values()].map((rule) => [rule, coverageOf(rule)]))
  const undeclared = coverageOf(UNDECLARED)
  const coveredBy: EventAccess['coveredBy'] = (type, from) => {
    const rule = ruleOf(type, from)
    return rule === UNDECLARED ? undeclared : coverages.get(rule)
  }
  const covers: EventAccess['covers'] = (reader, type, collection) =>
    isCovered(coveredBy(type, collection), reader)
  const types = [...rules.keys()]
  return {
    collections: new Map([...rules].map(([type, { collection }]) => [type, collection])),
    coveredBy,
    covers,
    scopeOf(type, kind) {
      const { collection, scope, owned } = ruleOf(type)
      return kind === 'person' && owned ? `${collection}:all` : (scope ?? ADMIN)
    },
    readScopesOf(reader) {
      const { scopes } = reader
      const covering = [...coverages.values()].flatMap((coverage) =>
        coverage === undefined ? [] : scopesFor(coverage, reader),
      )
      const held = covering.filter((scope) => scopes.has(scope) || scopes.has(ADMIN))
      return new Set(held.sort())
    },
    readableTypes(reader) {
      const readable = types.filter(
        (type) => covers(reader, type) && (!reader.isAgent || ruleOf(type).agents),
      )
      const readsUndeclared = isCovered(undeclared, reader) && !reader.isAgent
      return readsUndeclared && readable.length === types.length ? undefined : readable
    },
    uncoveredPattern: (reader, patterns) =>
      patterns.find(
        (pattern) => !types.some((type) => matchesAny([pattern], type) && covers(reader, type)),
      ),
    unreadable: (reader, patterns) =>
      types.filter((type) => matchesAny(patterns, type) && !covers(reader, type)),
    beyond: (reader, maker, patterns) =>
      types.find(
        (type) => matchesAny(patterns, type) && covers(maker, type) && !covers(reader, type),
      ),
  }
}
