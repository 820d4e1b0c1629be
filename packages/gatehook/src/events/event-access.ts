/**
 * Which scopes let a credential read the events of a type (§9.1, §9.14). Pure: the rules come from
 * the declaration; registrations, lists, streams and the outbox apply the same ones.
 */
import type { Principal } from '../kernel/principal.ts'
import { matchesAny } from './event-pattern.ts'

/** Implies every scope (§13). */
const ADMIN = 'admin'

export interface EventRule {
  /** The collection of the event's object; undefined for engine and external events. */
  readonly collection: string | undefined
  /** The read scope; undefined where the collection is readable without a credential. */
  readonly scope: string | undefined
  /** Whether a person needs `<collection>:all`: the rows have owners, or are closed to persons. */
  readonly owned: boolean
}

/** Scopes that cover event types: what a registration stores, what a caller holds. */
export type ReadScopes = ReadonlySet<string>

export interface EventAccess {
  /** Every declared type, and the collection of its objects; undefined: none. */
  readonly collections: ReadonlyMap<string, string | undefined>
  /** The scope that a caller without access to the type lacks. */
  scopeOf(type: string, kind?: Principal['kind']): string
  /** The scopes of a principal that cover event types. */
  readScopesOf(principal: Pick<Principal, 'kind' | 'scopes'>): ReadScopes
  /** Scopes each of which covers the type; undefined: no scope is required. */
  coveredBy(type: string, collection?: string | null): readonly string[] | undefined
  covers(scopes: ReadScopes, type: string, collection?: string | null): boolean
  /** Declared types that the scopes cover; undefined: all of them. */
  readableTypes(scopes: ReadScopes): readonly string[] | undefined
  /** The first type that the patterns name exactly and the scopes do not cover. */
  uncovered(scopes: ReadScopes, patterns: readonly string[]): string | undefined
  /** The first type that a registration of `owned` scopes receives and `scopes` do not cover. */
  beyond(scopes: ReadScopes, owned: ReadScopes, patterns: readonly string[]): string | undefined
}

const UNDECLARED: EventRule = { collection: undefined, scope: ADMIN, owned: false }

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
    readableTypes(scopes) {
      const readable = types.filter((type) => covers(scopes, type))
      return readable.length === types.length ? undefined : readable
    },
    uncovered: (scopes, patterns) =>
      patterns.find((pattern) => rules.has(pattern) && !covers(scopes, pattern)),
    beyond: (scopes, owned, patterns) =>
      types.find(
        (type) => matchesAny(patterns, type) && covers(owned, type) && !covers(scopes, type),
      ),
  }
}

/** Declared types a principal may read; undefined: all, and those declared no more. */
export const readableTypes = (
  access: EventAccess,
  principal: Pick<Principal, 'kind' | 'scopes'>,
): readonly string[] | undefined => access.readableTypes(access.readScopesOf(principal))
