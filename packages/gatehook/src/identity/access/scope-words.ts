/** Scopes in words: for a person who consents, and for an operator who grants. Pure. */
import { identityScopes, isIdentityScope } from '../tokens/identity-scopes.ts'
import type { ScopeChanges } from './administration.ts'
import { accountScopes, isAccountScope } from './scopes.ts'

/** The parts of a resource scope: `invoices:read`. */
interface ScopeParts {
  /** The collection in words. */
  readonly rows: string
  readonly verb: string
}

/** Returns undefined for a scope of another form. */
function partsOf(scope: string): ScopeParts | undefined {
  const [collection = '', verb = '', ...more] = scope.split(':')
  if (more.length > 0 || collection === '' || verb === '') return undefined
  return { rows: collection.replaceAll('_', ' '), verb }
}

const ALL_CHANGES = ['create', 'change', 'delete']
/** By hand: the first use of `Intl` loads its data, 8 MB and 9 ms of each start. */
const conjunction = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

const capitalize = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

type Words = Readonly<Record<string, (rows: string, changes: string) => string>>

const OWN: Words = {
  read: (rows) => `See your ${rows}`,
  write: (rows, changes) => `${changes} your ${rows}`,
  all: (rows) => `Reach the ${rows} of everybody in this account, not only yours`,
}
const GRANTED: Words = {
  read: (rows) => `Read ${rows}`,
  write: (rows, changes) => `${changes} ${rows}`,
  all: (rows) => `Reach the ${rows} of all persons of the customer, for credentials of persons`,
}

function describe(
  scope: string,
  words: Words,
  { article, changes }: { readonly article: string; readonly changes: ScopeChanges },
): string {
  const parts = partsOf(scope)
  if (!parts) return `Use “${scope}”`
  const { rows, verb } = parts
  if (Object.hasOwn(words, verb)) {
    const permitted = conjunction(changes.get(scope) ?? ALL_CHANGES)
    return words[verb]!(rows, capitalize(permitted))
  }
  return `${capitalize(verb.replaceAll('_', ' '))} ${article}${rows}`
}

/**
 * Describes a scope for a person, without a full stop. An account scope names the customer (§3.6);
 * a resource scope derives from its name, such as `invoices:read`.
 */
export const describeScope = (scope: string, customer: string, changes: ScopeChanges): string =>
  isAccountScope(scope)
    ? accountScopes[scope]!(customer)
    : isIdentityScope(scope)
      ? identityScopes[scope]!
      : describe(scope, OWN, { article: 'your ', changes })

/** Describes a scope for an operator. */
export const describeGrant = (scope: string, changes: ScopeChanges): string =>
  isAccountScope(scope)
    ? accountScopes[scope]!('the customer')
    : describe(scope, GRANTED, { article: '', changes })

/** Returns whether a scope covers a customer’s data or a declared collection, and which. */
export function classifyScope(scope: string): {
  readonly kind: 'account' | 'read' | 'write' | 'all' | 'action'
  readonly collection: string | null
} {
  if (isAccountScope(scope)) return { kind: 'account', collection: null }
  const [collection = '', verb = ''] = scope.split(':')
  const isKnown = verb === 'read' || verb === 'write' || verb === 'all'
  return { kind: isKnown ? verb : 'action', collection: verb === '' ? null : collection }
}
