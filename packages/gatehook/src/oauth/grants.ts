/**
 * What `POST /oauth/token` grants (§5.3), a function each: of a client that proved itself, the
 * parameters and what the room has, the tokens or a `Refusal`.
 */
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Database } from '../storage/database.ts'
import type { Issued } from '../tokens/grant.ts'
import type { Client, GrantType } from './client.ts'
import { holdClient } from './client-store.ts'
import { findCode, type StoredCode, useCode } from './codes.ts'
import { needed, type Parameters } from './form.ts'
import type { Directory, TokenIssuer } from './needs.ts'
import { proves } from './pkce.ts'
import { Refusal } from './refusal.ts'
import { askedScopes, common } from './scope.ts'

export interface GrantDeps {
  readonly db: Database
  readonly clock: Clock
  readonly tokens: TokenIssuer
  readonly people: Directory
}

type Give = (deps: GrantDeps, client: Client, parameters: Parameters) => Promise<Issued>

const wrongCode = () => new Refusal('invalid_grant', 'The code is wrong, expired or used.')

const authorizationCode: Give = async (deps, client, parameters) => {
  const text = needed(parameters, 'code')
  const redirectUri = needed(parameters, 'redirect_uri')
  // One that is missing proves as little as a wrong one.
  const verifier = parameters.get('code_verifier') ?? ''
  const code = await findCode(deps.db, text)
  // Whose it is comes first: a stranger who holds a code cannot end the sessions made with it.
  if (!code || code.clientId !== client.id || code.scope !== client.scope) throw wrongCode()
  if (code.used) return endReused(deps, text)
  if (code.expiresAt <= deps.clock.now()) throw wrongCode()
  if (code.redirectUri !== redirectUri) {
    throw new Refusal('invalid_grant', 'The redirect_uri is not that of the code.')
  }
  if (!proves(verifier, code.challenge)) {
    throw new Refusal('invalid_grant', 'The code_verifier is not that of the code.')
  }
  return exchange(deps, client, text, code)
}

const USED = Symbol('used')

async function exchange(deps: GrantDeps, client: Client, text: string, code: StoredCode) {
  const { clock, tokens, people } = deps
  const person = await people.person(code.scope, code.subject)
  if (person?.revision !== code.revision) throw wrongCode()
  const grant = {
    scope: client.scope,
    customer: client.customer,
    mode: client.mode,
    clientId: client.id,
    subject: code.subject,
    scopes: common(code.scopes, client.scopes, person.scopes),
    claims: person.claims,
  }
  try {
    const issued = await tokens.openSession(grant, async (tx, sessionId) => {
      if (!(await useCode(tx, code.hash, sessionId, clock.now()))) throw USED
      if (!(await holdClient(tx, client.id))) throw wrongCode()
      await people.confirm(tx, person)
    })
    if (client.grantTypes.includes('refresh_token')) return issued
    const { refresh_token: _, ...access } = issued
    return access
  } catch (error) {
    // Somebody was faster: the same as a second use, for one of the two is not the client.
    if (error === USED) return endReused(deps, text)
    if (error instanceof Failure && error.code === 'invalid_credentials') throw wrongCode()
    throw error
  }
}

/** A code used twice was stolen once: what came of it ends (RFC 6749 §4.1.2). */
async function endReused({ db, tokens }: GrantDeps, text: string): Promise<never> {
  const used = await findCode(db, text)
  const { sessionId } = used ?? {}
  if (sessionId !== undefined) await db.write((tx) => tokens.revokeSession(tx, sessionId))
  throw wrongCode()
}

const clientCredentials: Give = ({ tokens }, client, parameters) =>
  tokens.clientToken({
    scope: client.scope,
    customer: client.customer,
    mode: client.mode,
    clientId: client.id,
    subject: client.id,
    scopes: askedScopes(parameters.get('scope'), client.scopes),
  })

const refreshToken: Give = ({ tokens }, client, parameters) => {
  const asked = parameters.get('scope')
  return tokens.refresh(
    needed(parameters, 'refresh_token'),
    { clientId: client.id, authenticated: !client.isPublic },
    asked === undefined ? undefined : askedScopes(asked, client.scopes),
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
export async function give(
  deps: GrantDeps,
  client: Client,
  parameters: Parameters,
): Promise<Issued> {
  const type = grantTypeOf(parameters)
  if (!client.grantTypes.includes(type)) {
    throw new Refusal('unauthorized_client', `The client may not use ${type}.`)
  }
  return grants[type](deps, client, parameters)
}

/** Throws before the client is looked at: a request nobody could be granted. */
export function grantTypeOf(parameters: Parameters): GrantType {
  const type = needed(parameters, 'grant_type')
  if (!Object.hasOwn(grants, type)) {
    throw new Refusal('unsupported_grant_type', `Served are ${Object.keys(grants).join(', ')}.`)
  }
  return type as GrantType
}
