/**
 * Assertions of trusted issuers (§16.8): which caller one names, by the first rule that matches,
 * and each check on the way. The grant stops at the first check that fails; `explain` shows all.
 */
import { Failure } from '../../kernel/failure.ts'
import { findCustomer } from '../access/store.ts'
import type { SignInApi } from '../people/login.ts'
import type { Person } from '../people/person.ts'
import { type Audiences, selectAudience } from '../tokens/audience.ts'
import { intersectScopes } from '../tokens/identity-scopes.ts'
import {
  type AssertionCheck,
  type AssertionDeps,
  type Claims,
  type DecodedAssertion,
  decodeAssertion,
  examineAssertion,
  isPlainText,
  isUsed,
  USED_BEFORE,
} from './assertion.ts'
import { JWT_BEARER_GRANT, type OauthClient } from './client.ts'
import type { ClientCache } from './client-cache.ts'
import {
  findRuleMismatch,
  ID_JAG_TYPE,
  type IssuerRule,
  isOfDomain,
  typeOf,
} from './issuer-rules.ts'
import { readIssuer, type TrustedIssuer } from './issuer-store.ts'

const MAX_AHEAD_S = 86_400
const MAX_EMAIL = 254

export interface ExplanationDeps extends AssertionDeps {
  readonly people: Pick<SignInApi, 'findAsserted'>
  readonly clients: Pick<ClientCache, 'find'>
  readonly audiences: Pick<Audiences, 'all'>
}

export const isIdentityAssertion = ({ header }: DecodedAssertion): boolean =>
  typeOf(header) === ID_JAG_TYPE

/** An identity assertion that names a person for a client. */
interface AssertedPerson {
  readonly client: OauthClient
  readonly person: Person
}

export interface Examination {
  readonly checks: readonly AssertionCheck[]
  readonly rule: IssuerRule | undefined
  /** Undefined for a workload, and if a check failed. */
  readonly asserted: AssertedPerson | undefined
}

/** Returns the name of a workload: `issuer|sub`. */
export const workloadName = ({ issuer }: TrustedIssuer, { sub }: Claims): string =>
  `${issuer}|${sub}`

/**
 * Examines an assertion; it marks nothing as used.
 *
 * @param require called after each group of checks; it can throw
 */
export async function examineIssued(
  deps: ExplanationDeps,
  issuer: TrustedIssuer,
  assertion: DecodedAssertion,
  require: (checks: readonly AssertionCheck[]) => void,
): Promise<Examination> {
  const { header, claims } = assertion
  const isIdentity = isIdentityAssertion(assertion)
  const checks: AssertionCheck[] = []
  const add = (...added: readonly AssertionCheck[]) => {
    checks.push(...added)
    require(added)
  }
  const expected = {
    keys: issuer.keys,
    iss: issuer.issuer,
    maxAheadS: MAX_AHEAD_S,
    needsJti: isIdentity || !issuer.isReusable,
    isSingle: !issuer.isReusable,
  }
  add(...(await examineAssertion(deps, expected, assertion)))
  if (isIdentity) add(...identityChecks(claims, deps.audiences.all()))
  const mismatches = issuer.rules.map((rule) => findRuleMismatch(rule, header, claims))
  const position = mismatches.indexOf(undefined)
  const rule = issuer.rules[position]
  const others = mismatches.map((mismatch, at) => `rule ${at + 1} ${mismatch}`).join(', ')
  add({ name: 'rule', fault: rule ? undefined : `no rule matches: ${others || 'there is none'}` })
  if (!rule) return { checks, rule, asserted: undefined }
  add({ name: 'customer', fault: await findCustomerFault(deps, rule) })
  if (!rule.person) return { checks, rule, asserted: undefined }
  const [clientFault, client] = await findClient(deps, rule, claims)
  add({ name: 'client', fault: clientFault })
  const [personFault, person] = await findPerson(deps, rule, issuer, claims)
  add({ name: 'person', fault: personFault })
  return { checks, rule, asserted: client && person && { client, person } }
}

/** The checks of an identity assertion beside those of every assertion. */
const identityChecks = (
  { client_id, iat, scope, cnf, authorization_details: details, ...claims }: Claims,
  audiences: readonly string[],
): AssertionCheck[] => [
  { name: 'client_id', fault: typeof client_id === 'string' ? undefined : 'client_id is missing' },
  { name: 'iat', fault: iat === undefined ? 'iat is missing' : undefined },
  { name: 'cnf', fault: cnf === undefined ? undefined : 'cnf is not supported' },
  {
    name: 'authorization_details',
    fault: details === undefined ? undefined : 'authorization_details is not supported',
  },
  {
    name: 'scope',
    fault: scope === undefined || typeof scope === 'string' ? undefined : 'scope is no text',
  },
  { name: 'resource', fault: findResourceFault(claims, audiences) },
]

/** Returns the resources that an identity assertion is for; undefined: all. */
export function readResources(
  { resource }: Claims,
  audiences: readonly string[],
): readonly string[] | undefined {
  if (resource === undefined) return undefined
  const names: unknown[] = [resource].flat()
  const isText = (name: unknown) => typeof name === 'string'
  if (!names.every(isText))
    throw new Failure('invalid_target', 'resource has another value than texts')
  return selectAudience(names, audiences) ?? []
}

function findResourceFault(claims: Claims, audiences: readonly string[]): string | undefined {
  try {
    return readResources(claims, audiences)?.length === 0 ? 'resource is empty' : undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

async function findCustomerFault(
  { db }: ExplanationDeps,
  { customer: id }: IssuerRule,
): Promise<string | undefined> {
  const customer = await findCustomer(db, id)
  if (!customer) return 'the customer of the rule does not exist'
  return customer.suspended === 0 ? undefined : 'the customer of the rule is suspended'
}

type Found<T> = readonly [fault: string | undefined, value?: T]

async function findClient(
  { clients }: ExplanationDeps,
  { scope }: IssuerRule,
  { client_id: id }: Claims,
): Promise<Found<OauthClient>> {
  const client = typeof id === 'string' ? await clients.find(id) : undefined
  if (!client || client.isPublic) return ['client_id is no confidential client']
  if (client.scope !== scope) return ['the client has another customer or mode than the rule']
  if (!client.grantTypes.includes(JWT_BEARER_GRANT)) return ['the client lacks the grant']
  return [undefined, client]
}

async function findPerson(
  { db, people }: ExplanationDeps,
  { scope, person: kind, domains }: IssuerRule,
  { issuer }: TrustedIssuer,
  { sub, email, email_verified: isVerified }: Claims,
): Promise<Found<Person>> {
  if (kind === 'email') {
    if (!isPlainText(email, MAX_EMAIL)) return ['email is missing']
    if (isVerified !== true) return ['email_verified is not true']
    if (!isOfDomain(email, domains)) return ['email has another domain than the rule']
  }
  if (!isPlainText(sub, Number.POSITIVE_INFINITY)) return ['sub is missing']
  const identity = kind === 'email' ? { email: String(email) } : { issuer, sub }
  const person = await people.findAsserted(db, scope, identity)
  return person ? [undefined, person] : ['no enabled person of the customer and mode is named so']
}

/** Returns the scopes of a person's token within those that the client requests. */
export const scopesOfPerson = (
  requested: readonly string[],
  { scopes }: IssuerRule,
  person: Person,
  { scope: claim }: Claims,
): string[] => {
  const granted = intersectScopes(requested, scopes, person.scopes)
  return typeof claim === 'string' ? intersectScopes(granted, claim.split(' ')) : granted
}

/** Explains an assertion of an issuer to an operator. Throws 404. */
export async function explainAssertion(deps: ExplanationDeps, id: string, jwt: string) {
  const issuer = await readIssuer(deps.db, id)
  if (!issuer) throw new Failure('not_found')
  const assertion = decodeAssertion(jwt)
  if (!assertion) {
    const message = 'the assertion is no JWT, or too long'
    return { valid: false, checks: [{ name: 'form', passed: false, message }], principal: null }
  }
  const { claims } = assertion
  const examined = await examineIssued(deps, issuer, assertion, () => undefined)
  const isReplay = !issuer.isReusable && (await isUsed(deps.db, issuer.id, claims))
  const replay = { name: 'replay', fault: isReplay ? USED_BEFORE : undefined }
  const checks = [...examined.checks, replay].map(({ name, fault = null }) => ({
    name,
    passed: fault === null,
    message: fault,
  }))
  const valid = checks.every(({ passed }) => passed)
  return { valid, checks, principal: principalOf(issuer, claims, examined) }
}

function principalOf(issuer: TrustedIssuer, claims: Claims, { rule, asserted }: Examination) {
  if (!rule || (rule.person && !asserted) || typeof claims.sub !== 'string') return null
  const { customer, mode } = rule
  if (!asserted) {
    const scopes = [...rule.scopes]
    return { kind: 'workload' as const, id: workloadName(issuer, claims), customer, mode, scopes }
  }
  const { person, client } = asserted
  const scopes = scopesOfPerson(client.scopes, rule, person, claims)
  return { kind: 'person' as const, id: person.subject, customer, mode, scopes }
}
