/**
 * Which scopes let a credential read the events of a type (§9.1, §9.14). The rules come from the
 * declaration; registrations, lists, streams and the outbox apply the same ones. Pure.
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

/** Scopes that cover event types; a registration stores them, a caller holds them. */
type ReadScopes = ReadonlySet<string>

export interface EventAccess {
  /** Every declared type, and the collection of its objects; undefined: none. */
  readonly collections: ReadonlyMap<string, string | undefined>
  /** Returns the scope that a caller without access to the type lacks. */
  scopeOf(type: string, kind?: Principal['kind']): string
  /** Returns the scopes of a principal that cover event types. */
  readScopesOf(principal: Pick<Principal, 'kind' | 'scopes'>): ReadScopes
  /** Returns the scopes each of which covers the type; undefined: no scope is required. */
  coveredBy(type: string, collection?: string | null): readonly string[] | undefined
  covers(scopes: ReadScopes, type: string, collection?: string | null): boolean
  /** Returns the declared types that the scopes cover; undefined: all of them. */
  readableTypes(scopes: ReadScopes, isAgent?: boolean): readonly string[] | undefined
  /** Returns the first pattern of which the scopes cover no type. */
  uncoveredPattern(scopes: ReadScopes, patterns: readonly string[]): string | undefined
  /** Returns the declared types that patterns name and the scopes do not cover. */
  unreadable(scopes: ReadScopes, patterns: readonly string[]): readonly string[]
  /** Returns the first type that a registration receives and `scopes` do not cover. */
  beyond(
    scopes: ReadScopes,
    registrationScopes: ReadScopes,
    patterns: readonly string[],
  ): string | undefined
}

const UNDECLARED: EventRule = { collection: undefined, scope: ADMIN, owned: false, agents: true }

export function createEventAccess(rules: ReadonlyMap<string, EventRule>): EventAccess {
  const byCollection = new Map(
    [...rules.values()].flatMap((rule) =>
      rule.collection === undefined ? [] : [[rule.collection, rule] as const],
    ),
  )
  const ruleOf = (type: string, collection?: string | null): EventRule =>
    rules.get(type) ?? byCollection.get(collection ?? '') ?? UNDECLARED
  const coveredBy: EventAccess['coveredBy'] = (type, from) => {
    const { collection, scope } = ruleOf(type, from)
    if (scope === undefined) return undefined
    return collection === undefined ? [scope, ADMIN] : [scope, `${collection}:all`, ADMIN]
  }
  const covers: EventAccess['covers'] = (scopes, type, collection) =>
    coveredBy(type, collection)?.some((scope) => scopes.has(scope)) ?? true
  const types = [...rules.keys()]
  return {
    collections: new Map([...rules].map(([type, { collection }]) => [type, collection])),
    coveredBy,
    covers,
    scopeOf(type, kind) {
      const { collection, scope, owned } = ruleOf(type)
      return kind === 'person' && owned ? `${collection}:all` : (scope ?? ADMIN)
    },
    readScopesOf({ kind, scopes }) {
      const held = new Set<string>()
      if (scopes.has(ADMIN)) held.add(ADMIN)
      for (const { collection, scope, owned } of rules.values()) {
        const all = `${collection}:all`
        if (kind === 'person' && scopes.has(all)) held.add(all)
        if (scope === undefined || (kind === 'person' && owned && !scopes.has(ADMIN))) continue
        if (scopes.has(scope) || scopes.has(ADMIN)) held.add(scope)
      }
      return new Set([...held].sort())
    },
    readableTypes(scopes, isAgent = false) {
      const readable = types.filter(
        (type) => covers(scopes, type) && (!isAgent || ruleOf(type).agents),
      )
      return readable.length === types.length ? undefined : readable
    },
    uncoveredPattern: (scopes, patterns) =>
      patterns.find(
        (pattern) => !types.some((type) => matchesAny([pattern], type) && covers(scopes, type)),
      ),
    unreadable: (scopes, patterns) =>
      types.filter((type) => matchesAny(patterns, type) && !covers(scopes, type)),
    beyond: (scopes, registrationScopes, patterns) =>
      types.find(
        (type) =>
          matchesAny(patterns, type) && covers(registrationScopes, type) && !covers(scopes, type),
      ),
  }
}

/** Returns the types that a principal may read; undefined: all, also undeclared ones. */
export const readableTypes = (
  access: EventAccess,
  principal: Pick<Principal, 'kind' | 'scopes' | 'isAgent'>,
): readonly string[] | undefined =>
  access.readableTypes(access.readScopesOf(principal), principal.isAgent)
