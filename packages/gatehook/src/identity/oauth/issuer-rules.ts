/**
 * The rules of a trusted issuer (§16.8): which of its assertions name a caller of which customer.
 * A rule names a claim that only the owner of the caller can have, because every customer of a
 * public issuer gets assertions of it. Pure.
 */
import type { Mode, Scope } from '../../kernel/principal.ts'
import type { Claims } from './assertion.ts'

/** The `typ` of identity assertions for agents. */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt'
const JWT_TYPE = 'jwt'
/** Types of JWTs that are no assertion of a workload: access tokens could be stolen for it. */
const OTHER_TYPES: readonly string[] = [ID_JAG_TYPE, 'at+jwt']

/** Claims that only the owner of a caller can have, at the issuers that have them. */
export const OWNER_CLAIMS = [
  'sub',
  'repository',
  'repository_owner',
  'repository_id',
  'repository_owner_id',
  'project_id',
  'namespace_id',
  'hd',
  'tid',
] as const
/** Claims that every assertion of an issuer can have: they own nothing. */
export const COMMON_CLAIMS = ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti'] as const

const MAX_MATCH_BYTES = 4_096
const MAX_DEPTH = 4
const MAX_TEXT = 500

type MatchValue = string | readonly string[] | { readonly [claim: string]: MatchValue }
export type Match = Readonly<Record<string, MatchValue>>

export interface IssuerRule {
  /** Tokens and registrations name it: they end with it. */
  readonly id: string
  readonly match: Match
  /** Undefined: an absent `typ`, or `JWT`. */
  readonly typ: string | undefined
  readonly scope: Scope
  /** The customer's id. */
  readonly customer: string
  readonly mode: Mode
  readonly scopes: readonly string[]
  /** How an identity assertion names a person; undefined: the caller is a workload. */
  readonly person: 'email' | 'sub' | undefined
  /** Domains of e-mail addresses; empty: any. */
  readonly domains: readonly string[]
}

/** Returns a media type as `typ` compares (RFC 7515 §4.1.9). */
const foldType = (typ: string): string => typ.toLowerCase().replace(/^application\//, '')

/** Returns the type in the header of an assertion; `jwt` without one. */
export const typeOf = ({ typ }: Claims): string =>
  typ === undefined ? JWT_TYPE : typeof typ === 'string' ? foldType(typ) : ''

/** Returns the fault of the `typ` of a rule; undefined if it can have it. */
export function findTypeFault(typ: string, isOfPerson: boolean): string | undefined {
  const folded = foldType(typ)
  if (isOfPerson) return folded === ID_JAG_TYPE ? undefined : `is ${ID_JAG_TYPE} for persons`
  return OTHER_TYPES.includes(folded) ? 'is not for rules without person' : undefined
}

const WILDCARD = /[/:]\*$/

/** Returns the fault of a text that a claim must equal, or begin with. */
function findTextFault(text: string, isSubject: boolean): string | undefined {
  if (text === '' || text.length > MAX_TEXT) return `has a text of 0 or over ${MAX_TEXT} characters`
  const isOpen = WILDCARD.test(text)
  const stem = isOpen ? text.slice(0, -2) : text
  if (stem.includes('*')) return 'has a * elsewhere than in /* or :* at the end'
  const segments = stem.split(/[/:]/).filter((segment) => segment !== '')
  const least = isSubject ? 2 : 1
  if (!isOpen || segments.length >= least) return undefined
  return `needs ${least} ${isSubject ? 'segments' : 'segment'} before its final *`
}

function findValueFault(value: unknown, claim: string, depth: number): string | undefined {
  if (typeof value === 'string') return findTextFault(value, claim === 'sub' && depth === 1)
  if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) {
    return `has a value of ${claim} that is no text, list of texts or object`
  }
  const isList = Array.isArray(value)
  const members = Object.entries(value)
  if (members.length === 0) return `has an empty value of ${claim}`
  if (claim === 'sub' && depth === 1 && !isList) return 'has an object as sub'
  for (const [name, item] of members) {
    if (isList && typeof item !== 'string') return `has a list of ${claim} with other values`
    const fault = findValueFault(item, isList ? claim : name, isList ? depth : depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Returns the fault of the `match` of a rule; undefined if it names an owner. */
export function findMatchFault(match: object, owners: readonly string[]): string | undefined {
  if (JSON.stringify(match).length > MAX_MATCH_BYTES) return `is over ${MAX_MATCH_BYTES} bytes`
  const names = Object.keys(match)
  const isOwner = (name: string) => [...OWNER_CLAIMS, ...owners].some((owner) => owner === name)
  if (!names.some(isOwner)) {
    return `names no claim of the owner: ${[...OWNER_CLAIMS, ...owners].join(', ')}`
  }
  for (const [name, value] of Object.entries(match)) {
    const fault = findValueFault(value, name, 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

const matchesText = (pattern: string, value: string): boolean =>
  WILDCARD.test(pattern)
    ? value.length >= pattern.length && value.startsWith(pattern.slice(0, -1))
    : value === pattern

/** Returns the path of the first claim that differs; undefined if all match. */
function findMismatch(match: Match, claims: Claims, path = ''): string | undefined {
  for (const [name, expected] of Object.entries(match)) {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined
    const at = `${path}${name}`
    if (typeof expected === 'string' || Array.isArray(expected)) {
      const patterns: readonly string[] = [expected].flat()
      if (typeof value !== 'string' || !patterns.some((text) => matchesText(text, value))) return at
      continue
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return at
    const mismatch = findMismatch(expected as Match, value as Claims, `${at}.`)
    if (mismatch !== undefined) return mismatch
  }
  return undefined
}

/** Returns the type of assertions that a rule takes. */
const expectedTypeOf = ({ typ, person }: Pick<IssuerRule, 'typ' | 'person'>): string =>
  person ? ID_JAG_TYPE : typ === undefined ? JWT_TYPE : foldType(typ)

/** Returns why a rule is not for an assertion, as the rest of a sentence; undefined if it is. */
export function findRuleMismatch(
  rule: IssuerRule,
  header: Claims,
  claims: Claims,
): string | undefined {
  const expectedType = expectedTypeOf(rule)
  if (typeOf(header) !== expectedType) return `takes the typ ${expectedType}`
  const claim = findMismatch(rule.match, claims)
  return claim === undefined ? undefined : `has another ${claim}`
}

const isObject = (value: MatchValue): value is Match =>
  typeof value === 'object' && !Array.isArray(value)

/** Whether a value of a claim can match both; a pattern is the shortest text that it matches. */
function overlapsValue(first: MatchValue, second: MatchValue): boolean {
  if (isObject(first) || isObject(second)) {
    return isObject(first) && isObject(second) && overlapsMatch(first, second)
  }
  const texts = [second].flat()
  return [first].flat().some((a) => texts.some((b) => matchesText(a, b) || matchesText(b, a)))
}

/** Whether claims can match both: each claim that both name has a common value. */
const overlapsMatch = (first: Match, second: Match): boolean =>
  Object.entries(first).every(
    ([name, value]) => !Object.hasOwn(second, name) || overlapsValue(value, second[name]!),
  )

/** A rule without its name and its scopes. */
type Taking = Omit<IssuerRule, 'id' | 'scopes'>

/** Whether an assertion can be of both rules, so that the first one decides. */
export const overlaps = (first: Taking, second: Taking): boolean =>
  expectedTypeOf(first) === expectedTypeOf(second) && overlapsMatch(first.match, second.match)

/** Whether the first value matches all that the second one matches. */
function coversValue(first: MatchValue, second: MatchValue): boolean {
  if (isObject(first) || isObject(second)) {
    return isObject(first) && isObject(second) && coversMatch(first, second)
  }
  const patterns = [first].flat()
  return [second].flat().every((text) => patterns.some((pattern) => matchesText(pattern, text)))
}

const coversMatch = (first: Match, second: Match): boolean =>
  Object.entries(first).every(
    ([name, value]) => Object.hasOwn(second, name) && coversValue(value, second[name]!),
  )

/** Whether the first rule takes all that the second one takes, for the same customer and mode. */
const covers = (first: Taking, second: Taking): boolean =>
  first.scope === second.scope &&
  first.person === second.person &&
  expectedTypeOf(first) === expectedTypeOf(second) &&
  (first.domains.length === 0 ||
    (second.domains.length > 0 && second.domains.every((name) => first.domains.includes(name)))) &&
  coversMatch(first.match, second.match)

const isSame = (first: Taking, second: Taking) => covers(first, second) && covers(second, first)

/**
 * Returns the position of the former rule that each new one continues: it takes all callers of the
 * former rule, and no rule before it takes one of them from it.
 */
export function findContinued(
  former: readonly IssuerRule[],
  rules: readonly Taking[],
): (number | undefined)[] {
  const continued: (number | undefined)[] = rules.map(() => undefined)
  for (const fits of [isSame, covers]) {
    for (const [at, rule] of rules.entries()) {
      continued[at] ??= findPosition(
        former,
        (earlier, position) => !continued.includes(position) && fits(rule, earlier),
      )
    }
  }
  const isTaken = (at: number, position: number) =>
    rules
      .slice(0, at)
      .some(
        (before) =>
          overlaps(before, former[position]!) &&
          !former.slice(0, position).some((earlier) => isSame(before, earlier)),
      )
  return continued.map((position, at) =>
    position === undefined || isTaken(at, position) ? undefined : position,
  )
}

function findPosition<T>(list: readonly T[], fits: (item: T, at: number) => boolean) {
  const at = list.findIndex(fits)
  return at < 0 ? undefined : at
}

/** Whether an e-mail address is of one of the domains. */
export const isOfDomain = (email: string, domains: readonly string[]): boolean =>
  domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())
