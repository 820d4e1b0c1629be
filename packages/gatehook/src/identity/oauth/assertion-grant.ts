/**
 * The grant of RFC 7523 §2.1 (§16.8): an assertion of a trusted issuer becomes an access token of a
 * workload, or of a person for an authenticated client. There is no refresh token.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { hashEmail, hashIdentity } from '../people/identities.ts'
import type { TokenResponse } from '../tokens/api.ts'
import { selectAudience } from '../tokens/audience.ts'
import {
  AssertionFault,
  type DecodedAssertion,
  decodeAssertion,
  markUsed,
  requirePassed,
} from './assertion.ts'
import type { OauthClient } from './client.ts'
import { holdClientAt } from './client-store.ts'
import {
  type Examination,
  type ExplanationDeps,
  examineIssued,
  isIdentityAssertion,
  readResources,
  scopesOfPerson,
  workloadName,
} from './issuer-assertion.ts'
import type { IssuerRule } from './issuer-rules.ts'
import type { Issuers, TrustedIssuer } from './issuer-store.ts'
import { OauthError } from './oauth-error.ts'
import { type OauthParameters, requireParameter, resourcesOf } from './parameters.ts'
import { parseScopes } from './scopes.ts'
import type { TokenGrantDeps } from './token-grants.ts'

export interface AssertionGrantDeps extends TokenGrantDeps {
  readonly issuers: Issuers
  readonly explanation: ExplanationDeps
  readonly log: Pick<Log, 'warn'>
}

interface AssertionRequest {
  readonly call: Call
  /** The client that the request authenticates; undefined: it names none. */
  readonly client: OauthClient | undefined
  readonly parameters: OauthParameters
}

/** An assertion that passed its checks. */
interface Presented {
  readonly issuer: TrustedIssuer
  readonly assertion: DecodedAssertion
  readonly rule: IssuerRule
  readonly asserted: Examination['asserted']
}

/**
 * Issues the token of an assertion. Throws `invalid_grant` for every fault of the assertion alike;
 * the log has the cause.
 */
export async function exchangeAssertion(
  deps: AssertionGrantDeps,
  request: AssertionRequest,
): Promise<TokenResponse> {
  const jwt = requireParameter(request.parameters, 'assertion')
  const assertion = decodeAssertion(jwt)
  const iss = assertion?.claims.iss
  const issuer = typeof iss === 'string' ? await deps.issuers.find(iss) : undefined
  try {
    if (!assertion) throw new AssertionFault('the assertion is no JWT, or too long')
    if (isIdentityAssertion(assertion) && !request.client) {
      throw new OauthError('invalid_client', 'The client of an identity assertion authenticates.')
    }
    if (!issuer) throw new AssertionFault('the issuer is not trusted')
    const { explanation } = deps
    const examined = await examineIssued(explanation, issuer, assertion, requirePassed)
    const presented = { issuer, assertion, rule: examined.rule!, asserted: examined.asserted }
    return await (examined.asserted ? issueToPerson : issueToWorkload)(deps, request, presented)
  } catch (error) {
    if (!(error instanceof AssertionFault)) throw error
    deps.log.warn({ issuer: issuer?.id, cause: error.message }, 'an assertion was rejected')
    const message = error.isPublic ? error.message : 'The assertion is not valid.'
    throw new OauthError('invalid_grant', message)
  }
}

/** Marks an assertion as used. Throws if it was used before. */
async function consume(tx: Tx, { issuer, assertion }: Presented): Promise<void> {
  if (issuer.isReusable || (await markUsed(tx, issuer.id, assertion.claims))) return
  throw new AssertionFault('The assertion was used before.', true)
}

/** A token lives at most so long, and does not outlive its assertion. */
const MAX_TOKEN_MS = 900_000
const boundOf = ({ clock }: AssertionGrantDeps, { assertion }: Presented) => ({
  endsAt: Math.min(
    Math.floor(Number(assertion.claims.exp)) * 1000,
    Math.floor(clock.now() / 1000) * 1000 + MAX_TOKEN_MS,
  ),
})

async function issueToWorkload(
  deps: AssertionGrantDeps,
  { call, parameters }: AssertionRequest,
  presented: Presented,
): Promise<TokenResponse> {
  const { tokens, db } = deps
  const { issuer, rule, assertion } = presented
  const { scope, customer, mode } = rule
  const subject = workloadName(issuer, assertion.claims)
  const clientId = issuer.id
  call.identified = { kind: 'workload', subject, clientId, customer, mode }
  const scopes = parseScopes(parameters.get('scope'), rule.scopes)
  const audience = selectAudience(resourcesOf(parameters), tokens.audiences.all())
  await db.write((tx) => consume(tx, presented))
  const named = { issuer: issuer.id, rule: rule.id }
  const grant = { scope, customer, mode, clientId, subject, scopes, audience, assertion: named }
  return tokens.issueAccessToken({ ...grant, kind: 'workload' }, boundOf(deps, presented))
}

const identityOf = ({ rule, issuer, assertion: { claims } }: Presented): string =>
  rule.person === 'email'
    ? hashEmail(String(claims.email))
    : hashIdentity({ issuer: issuer.issuer, sub: String(claims.sub) })

async function issueToPerson(
  deps: AssertionGrantDeps,
  { call, client, parameters }: AssertionRequest,
  presented: Presented,
): Promise<TokenResponse> {
  const { issuer, rule, asserted, assertion } = presented
  const { tokens, people } = deps
  const { claims } = assertion
  const { person } = asserted!
  if (client!.id !== claims.client_id) throw new AssertionFault('client_id is another client')
  const requested = parseScopes(parameters.get('scope'), client!.scopes)
  const allowed = readResources(claims, tokens.audiences.all())
  const audience =
    selectAudience(resourcesOf(parameters), allowed ?? tokens.audiences.all()) ?? allowed
  const { id: clientId, name, scope: clientScope } = client!
  const actor = actorOf(call, { kind: 'client', id: clientId, name, scope: clientScope })
  const response = tokens.issueSessionToken(
    async (tx, target) => {
      await consume(tx, presented)
      if (!(await holdClientAt(tx, clientId, undefined))) {
        throw new AssertionFault('the client is deleted or blocked')
      }
      const current = await people.confirm(tx, person)
      const { scope, customer, mode, subject } = current
      const scopes = scopesOfPerson(requested, rule, current, claims)
      const detail = { subject, scopes, issuer: issuer.issuer }
      await recordAudit(tx, { actor, action: 'session.create', target, scope, detail }, deps)
      const grant = { scope, customer, mode, clientId, subject, scopes, audience }
      const named = { issuer: issuer.id, rule: rule.id, identity: identityOf(presented) }
      return { ...grant, claims: current.claims, thirdParty: true, assertion: named }
    },
    boundOf(deps, presented),
  )
  return response.catch((error: unknown) => {
    const isChanged = error instanceof Failure && error.code === 'invalid_credentials'
    throw isChanged ? new AssertionFault('the person has changed meanwhile') : error
  })
}
