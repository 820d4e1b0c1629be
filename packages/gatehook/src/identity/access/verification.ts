/**
 * `POST /keys/verify` (§17.3): an application beside Gatehook verifies an API key or access token
 * that it has received, and counts its requests. A credential that the caller may not see is
 * reported like one that does not exist. `POST /oauth/introspect` describes keys by it.
 */
import { parseAddressRange, unmapAddress } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Principal } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'
import type { ChargeResult, Quota } from '../../protocol/quota/steps.ts'
import { type CredentialVerdict, REJECTIONS, type Tokens } from '../tokens/api.ts'
import { VERIFY_ALL_SCOPE, VERIFY_SCOPE } from './administration.ts'
import { mode } from './collections.ts'
import type { KeyVerifier } from './key-verifier.ts'
import { holdsScope, SCOPE_NAME } from './scopes.ts'

const CREDENTIAL_MAX = 8192
const RESOURCE_MAX = 2048
const MAX_SCOPES = 100
const MAX_COST = 1000

const addressMember = b
  .matching(/^[0-9A-Fa-f:.]{2,45}$/, 'an IP address')
  .refine((text, reject) =>
    parseAddressRange(text) ? unmapAddress(text) : reject('must be an IP address'),
  )

const scopeName = b.matching(SCOPE_NAME, 'the name of a scope', { max: 200 })

const input = {
  credential: b
    .text({ min: 1, max: CREDENTIAL_MAX })
    .secret()
    .describe('The API key or access token that the application received.')
    .example('gk_live_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2'),
  scopes: b
    .set(scopeName, { max: MAX_SCOPES })
    .optional()
    .describe('The scopes that the credential must hold.')
    .example(['reports:read']),
  address: addressMember
    .optional()
    .describe('The address of the client. Without it a key with `cidrs` is rejected.')
    .example('203.0.113.7'),
  resource: b
    .line(RESOURCE_MAX)
    .optional()
    .describe('The audience that an access token must have; default: that of the service.')
    .example('https://api.example.com'),
  cost: b
    .int(0, MAX_COST)
    .optional()
    .describe('How many requests to count against the limit of the credential; default 0.')
    .example(1),
}

const limit = b
  .object({
    limit: b.int(0).example(1000),
    remaining: b.int(0).describe('Requests left now.').example(999),
    reset_s: b.int(0).describe('Seconds until `remaining` increases.').example(60),
  })
  .describe('The strictest limit of the credential; null: it has none.')

const verification = b
  .object({
    active: b.bool(),
    kind: b.oneOf(['key', 'client', 'person', 'workload']).optional(),
    id: b
      .text()
      .optional()
      .describe('The id of the key, client or person; `issuer|sub` of a workload.')
      .example('key_01jdq8w9'),
    client_id: b.text().nullable().optional().describe('The client of a token.').example(null),
    first_party: b.bool().optional().describe('False: a client of another party acts.'),
    name: b.text().nullable().optional().example('Shop backend'),
    customer: b.text().optional().example('cus_01jdq8w9vgk7'),
    external_id: b
      .text()
      .nullable()
      .optional()
      .describe('Your id of the customer.')
      .example('org_42'),
    mode: mode.optional(),
    scopes: b.list(b.text()).optional().example(['reports:read']),
    api_version: b.text().nullable().optional().describe('The pinned version.').example(null),
    expires_at: b.time().nullable().optional().describe('Null: never.'),
    limit: limit.nullable().optional(),
    reason: b
      .oneOf([...REJECTIONS, 'scope', 'limited'])
      .optional()
      .describe('Why the credential is not active.'),
    missing_scopes: b.list(b.text()).optional().describe('With the reason `scope`.').example([]),
    status: b.int(400, 499).optional().describe('For your own response.').example(403),
    headers: b
      .map(b.text())
      .optional()
      .describe('Headers for your own response, by their names in lower case.')
      .example({}),
  })
  .named('Verification')

export const verificationOperations = {
  verify: operation('POST /keys/verify', {
    id: 'verify_credential',
    summary: 'Verify an API key or access token that an application received',
    description:
      'For applications beside this API. The limit of the caller counts a request for an unknown ' +
      'credential or with a mistake only.',
    input,
    output: verification,
    countsCaller: 'handler',
  }),
}

type Verification = JsonOf<typeof verification>

/** The credentials that a caller may verify. */
export type Reach = 'all' | Pick<Principal, 'customer' | 'mode'>

/** Returns the reach of a caller; undefined without the right to verify. */
export function verificationReachOf(
  principal: Pick<Principal, 'scopes' | 'customer' | 'mode'>,
): Reach | undefined {
  if (holdsScope(principal, VERIFY_ALL_SCOPE)) return 'all'
  return holdsScope(principal, VERIFY_SCOPE) ? principal : undefined
}

interface VerificationDeps {
  readonly keys: Pick<KeyVerifier, 'examine' | 'recordUse'>
  readonly tokens: Pick<Tokens, 'examineAccessToken'>
  readonly quota: Pick<Quota, 'charge' | 'spare'>
  readonly log: Pick<Log, 'warn'>
  /** Returns whether a credential can hold a scope. */
  readonly isDeclared: (scope: string) => boolean
}

/** Scopes that the log names, so that a caller cannot fill it. */
const NAMED_MAX = 100
const UNDECLARED =
  'a verification requires a scope that the service does not declare: no credential holds it'

const isToken = (credential: string): boolean => credential.split('.', 4).length === 3

async function examine(
  { keys, tokens }: VerificationDeps,
  { credential, address, resource }: ValuesOf<typeof input>,
): Promise<CredentialVerdict> {
  if (!isToken(credential)) return keys.examine(credential, address)
  const verdict = await tokens.examineAccessToken(credential, resource)
  // A key that the team has issued may look like a token.
  const isForeign = verdict.rejection === 'unknown' && verdict.owner === undefined
  const key = isForeign ? await keys.examine(credential, address) : undefined
  return key === undefined || key.rejection === 'unknown' ? verdict : key
}

const isVisible = (verdict: CredentialVerdict, reach: Reach): boolean => {
  const owner = verdict.rejection === undefined ? verdict.principal : verdict.owner
  if (owner === undefined || reach === 'all') return owner !== undefined
  return owner.customer === reach.customer && owner.mode === reach.mode
}

/** Returns the response of an application to its caller, whose credential is not active. */
function refusal(
  reason: NonNullable<Verification['reason']>,
  { status, headers = {} }: Pick<Failure, 'status' | 'headers'>,
  more: Partial<Verification> = {},
): Verification {
  return { active: false, reason, ...more, status, headers }
}

const challenge = (error: string): Failure['headers'] => ({ 'www-authenticate': `Bearer ${error}` })

const limitOf = ({ limit, remaining, resetS }: ChargeResult): Verification['limit'] => ({
  limit,
  remaining,
  reset_s: resetS,
})

async function verify(
  deps: VerificationDeps,
  request: ValuesOf<typeof input>,
  reach: Reach,
): Promise<Verification> {
  const { credential, scopes = [], cost = 0 } = request
  const hasToken = isToken(credential)
  const verdict = await examine(deps, request)
  if (verdict.rejection !== undefined || !isVisible(verdict, reach)) {
    const isKnown = verdict.rejection !== undefined && isVisible(verdict, reach)
    const code = hasToken ? 'invalid_token' : 'invalid_api_key'
    const { status } = isKnown ? verdict.failure : new Failure(code)
    const headers = status === 401 ? challenge('error="invalid_token"') : {}
    return refusal(isKnown ? verdict.rejection : 'unknown', { status, headers })
  }
  const { principal, expiresAt } = verdict
  const missing = scopes.filter((scope) => !holdsScope(principal, scope))
  if (missing.length > 0) {
    const error = `error="insufficient_scope", scope="${scopes.join(' ')}"`
    const headers = principal.kind === 'key' ? {} : challenge(error)
    return refusal('scope', { status: 403, headers }, { missing_scopes: missing })
  }
  const charge = await deps.quota.charge(principal, cost)
  if (charge && !charge.allowed) {
    return refusal('limited', { status: 429, headers: charge.headers }, { limit: limitOf(charge) })
  }
  deps.keys.recordUse(principal)
  const { kind, subject, clientId, thirdParty, name, customer, externalId, mode, version } =
    principal
  return {
    active: true,
    kind: kind as NonNullable<Verification['kind']>,
    id: subject,
    client_id: clientId ?? null,
    first_party: !thirdParty,
    name: name ?? null,
    customer,
    external_id: externalId ?? null,
    mode,
    scopes: [...principal.scopes],
    api_version: version ?? null,
    expires_at: Number.isFinite(expiresAt) ? isoTime(expiresAt) : null,
    limit: charge ? limitOf(charge) : null,
  }
}

/** Returns the active key with this text within reach; undefined without one. */
export async function findActiveKey(
  { keys }: Pick<VerificationDeps, 'keys'>,
  key: string,
  reach: Reach,
): Promise<Extract<CredentialVerdict, { readonly principal: Principal }> | undefined> {
  const verdict = await keys.examine(key, undefined)
  return verdict.rejection === undefined && isVisible(verdict, reach) ? verdict : undefined
}

export function verificationRoute(deps: VerificationDeps): Route {
  const named = new Set<string>()
  /** A misspelt scope rejects every caller, and the application has no other sign of it. */
  const reportUndeclared = (scopes: readonly string[]) => {
    for (const scope of scopes) {
      if (deps.isDeclared(scope) || named.has(scope) || named.size === NAMED_MAX) continue
      named.add(scope)
      deps.log.warn({ scope }, UNDECLARED)
    }
  }
  return implement(verificationOperations.verify, async (call, request) => {
    const result = await verify(deps, request, verificationReachOf(call.principal!)!)
    reportUndeclared(result.missing_scopes ?? [])
    // Strangers send unknown credentials without end.
    if (result.reason !== 'unknown') deps.quota.spare(call)
    return respond(verificationOperations.verify, result, { 'cache-control': 'no-store' })
  })
}
