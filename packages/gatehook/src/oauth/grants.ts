/**
 * What `POST /oauth/token` grants (§5.3), a function each: of a client that proved itself, the
 * parameters and what the room has, the tokens or a `Refusal`.
 */
import { type Actor, type AuditContext, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { sha256 } from '../kernel/secret.ts'
import type { SignInApi } from '../people/login.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Grant, TokenResponse, Tokens } from '../tokens/api.ts'
import type { Client, GrantType } from './client.ts'
import { holdClient } from './client-store.ts'
import { findCode, forgetSession, type Presented, useCode } from './codes.ts'
import { needed, type Parameters } from './form.ts'
import { challengeOf } from './pkce.ts'
import { Refusal } from './refusal.ts'
import { askedScopes, common } from './scope.ts'

export interface GrantDeps extends AuditContext {
  readonly db: Database
  readonly tokens: Tokens
  readonly people: SignInApi
}

/** A token request by a client that proved itself. */
interface TokenRequest {
  readonly client: Client
  readonly parameters: Parameters
  /** The client and its request, for the audit trail. */
  readonly actor: Actor
}

type Give = (deps: GrantDeps, request: TokenRequest) => Promise<TokenResponse>

const wrongCode = () => new Refusal('invalid_grant', 'The code is wrong, expired or used.')

/** Nothing was used up: what is presented is not what the code was given for, or not any more. */
const UNFIT = Symbol('unfit')

const authorizationCode: Give = async (deps, request) => {
  const { client, parameters } = request
  const presented: Presented = {
    hash: sha256(needed(parameters, 'code')),
    clientId: client.id,
    scope: client.scope,
    redirectUri: needed(parameters, 'redirect_uri'),
    // One that is missing proves as little as a wrong one.
    challenge: challengeOf(parameters.get('code_verifier') ?? '') ?? '',
  }
  try {
    const issued = await deps.tokens.openSession(exchange(deps, request, presented))
    if (client.grantTypes.includes('refresh_token')) return issued
    const { refresh_token: _, ...access } = issued
    return access
  } catch (error) {
    if (error === UNFIT) throw await whyUnfit(deps, request, presented)
    if (error instanceof Failure && error.code === 'invalid_credentials') throw wrongCode()
    throw error
  }
}

/** The code is used up, and who gave it and whom they gave it to are still who they were. */
const exchange =
  (deps: GrantDeps, { client, actor }: TokenRequest, presented: Presented) =>
  async (tx: Tx, sessionId: string): Promise<Grant> => {
    const { clock, people } = deps
    const code = await useCode(tx, presented, sessionId, clock.now())
    if (!code) throw UNFIT
    if (!(await holdClient(tx, client.id))) throw wrongCode()
    const person = await people.confirm(tx, { id: Number(code.subject), revision: code.revision })
    const { subject } = code
    const scopes = common(code.scopes, client.scopes, person.scopes)
    const detail = { subject, scopes }
    await recordAudit(tx, { actor, action: 'session.create', target: sessionId, detail }, deps)
    return {
      scope: client.scope,
      customer: client.customer,
      mode: client.mode,
      clientId: client.id,
      subject,
      scopes,
      claims: person.claims,
    }
  }

/**
 * Whose it is comes first: a stranger who holds a code cannot end the session made with it. A code
 * used twice was stolen once: what came of it ends (RFC 6749 §4.1.2). In a transaction, so that it
 * sees who was faster a moment ago.
 */
const whyUnfit = (
  deps: GrantDeps,
  { actor }: TokenRequest,
  presented: Presented,
): Promise<Refusal> =>
  deps.db.write(async (tx) => {
    const { clock, tokens } = deps
    const code = await findCode(tx, presented.hash)
    if (code?.client_id !== presented.clientId || code.scope !== presented.scope) return wrongCode()
    if (code.session_id !== null && (await forgetSession(tx, presented.hash))) {
      const sessions = Number(await tokens.revokeSession(tx, code.session_id))
      const detail = { subject: code.subject, sessions }
      const act = { actor, action: 'code.reuse_detected', target: code.session_id, detail }
      await recordAudit(tx, act, deps)
    }
    if (code.used_at !== null || code.expires_at <= clock.now()) return wrongCode()
    const what = code.redirect_uri === presented.redirectUri ? 'code_verifier' : 'redirect_uri'
    return new Refusal('invalid_grant', `The ${what} is not that of the code.`)
  })

const clientCredentials: Give = ({ tokens }, { client, parameters }) =>
  tokens.issueClientToken({
    scope: client.scope,
    customer: client.customer,
    mode: client.mode,
    clientId: client.id,
    subject: client.id,
    scopes: askedScopes(parameters.get('scope'), client.scopes),
  })

const refreshToken: Give = ({ tokens }, { client, parameters, actor }) => {
  const asked = parameters.get('scope')
  return tokens.refreshSession(
    needed(parameters, 'refresh_token'),
    { clientId: client.id, authenticated: !client.isPublic },
    { scopes: asked === undefined ? undefined : askedScopes(asked, client.scopes), actor },
  )
}

const grants: Readonly<Record<GrantType, Give>> = {
  authorization_code: authorizationCode,
  client_credentials: clientCredentials,
  refresh_token: refreshToken,
}

/**
 * Throws `Refusal`s by the names of RFC 6749 §5.2. Others than these three grants, `password` and
 * whatever else a caller names, are `unsupported_grant_type`.
 */
export async function give(deps: GrantDeps, request: TokenRequest): Promise<TokenResponse> {
  const { client, parameters } = request
  const type = grantTypeOf(parameters)
  if (!client.grantTypes.includes(type)) {
    throw new Refusal('unauthorized_client', `The client may not use ${type}.`)
  }
  return grants[type](deps, request)
}

/** Throws before the client is looked at: a request nobody could be granted. */
export function grantTypeOf(parameters: Parameters): GrantType {
  const type = needed(parameters, 'grant_type')
  if (!Object.hasOwn(grants, type)) {
    throw new Refusal('unsupported_grant_type', `Served are ${Object.keys(grants).join(', ')}.`)
  }
  return type as GrantType
}
