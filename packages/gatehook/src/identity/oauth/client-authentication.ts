/**
 * Authenticates OAuth clients by exactly one method: Basic, the body, an assertion (§16.7), or the
 * client id alone for a public client (RFC 6749 §2.3, §3.2.1).
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  BASIC_CHALLENGE,
  parseAuthorization,
  parseClientBasic,
} from '../../protocol/http/authorization.ts'
import type { Call } from '../../protocol/http/call.ts'
import { headerLines } from '../../protocol/http/header.ts'
import type { RestoredAt } from '../tokens/single-use.ts'
import { ASSERTION_TYPE, AssertionFault, readSubject, verifyClientAssertion } from './assertion.ts'
import { type OauthClient, verifyClientSecret } from './client.ts'
import type { ClientCache } from './client-cache.ts'
import type { KeySets } from './key-set.ts'
import { OauthError } from './oauth-error.ts'
import type { OauthParameters } from './parameters.ts'
import type { SecretThrottle } from './secret-throttle.ts'

export const AUTHENTICATION_METHODS = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
] as const

const FAILED = 'Client authentication failed.'
const CHALLENGE = { 'www-authenticate': BASIC_CHALLENGE }

interface ClientCredential {
  /** Undefined: the subject of the assertion. */
  readonly id: string | undefined
  /** Undefined if the request contains the client id only. */
  readonly secret: string | undefined
  readonly isBasic: boolean
  readonly assertion?: string
}

/**
 * Reads the client credential of a request. Throws `invalid_request` for two methods at once, and
 * `invalid_client` for none or for a malformed header. Pure.
 */
export function readClientCredential(
  rawHeaders: readonly string[],
  parameters: OauthParameters,
): ClientCredential {
  const lines = headerLines(rawHeaders, 'authorization')
  const id = parameters.get('client_id')
  const secret = parameters.get('client_secret')
  if (lines.length > 1) throw new OauthError('invalid_request', 'Authorization is repeated.')
  const assertion = parameters.get('client_assertion')
  if (assertion !== undefined || parameters.has('client_assertion_type')) {
    if (lines[0] !== undefined || secret !== undefined) {
      throw new OauthError('invalid_request', 'Authenticate by an assertion or by a secret.')
    }
    return readAssertion(id, assertion, parameters.get('client_assertion_type'))
  }
  if (lines[0] === undefined) {
    if (id === undefined) throw new OauthError('invalid_client', 'The request names no client.')
    return { id, secret, isBasic: false }
  }
  if (secret !== undefined) {
    throw new OauthError('invalid_request', 'Authenticate by header or body, not by both.')
  }
  const { scheme, value } = parseAuthorization(lines[0])
  const pair = scheme === 'basic' ? parseClientBasic(value) : undefined
  if (!pair) {
    throw new OauthError('invalid_client', 'Authorization is not a Basic credential.', CHALLENGE)
  }
  if (id !== undefined && id !== pair.username) {
    throw new OauthError('invalid_request', 'Header and body name different clients.')
  }
  return { id: pair.username, secret: pair.password, isBasic: true }
}

function readAssertion(
  clientId: string | undefined,
  assertion: string | undefined,
  type: string | undefined,
): ClientCredential {
  if (assertion === undefined || type !== ASSERTION_TYPE) {
    const message = `Send client_assertion with client_assertion_type=${ASSERTION_TYPE}.`
    throw new OauthError('invalid_request', message)
  }
  return { id: clientId, secret: undefined, isBasic: false, assertion }
}

/** Whether a request names a client, or has a credential of one. */
export const namesClient = (rawHeaders: readonly string[], parameters: OauthParameters): boolean =>
  ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'].some((name) =>
    parameters.has(name),
  ) || headerLines(rawHeaders, 'authorization').length > 0

/** Returns the client of a request. A public client has not proved its identity. */
export type AuthenticateClient = (call: Call, parameters: OauthParameters) => Promise<OauthClient>

interface ClientAuthenticationDeps {
  readonly clients: ClientCache
  readonly throttle: SecretThrottle
  readonly clock: Pick<Clock, 'now'>
  readonly db: Database
  readonly keySets: KeySets
  readonly issuer: () => string
  readonly restoredAt: RestoredAt
  readonly log: Pick<Log, 'warn'>
  /** Whether a request presents a code or token that was issued to a client. */
  readonly hasGrant: (clientId: string, parameters: OauthParameters) => Promise<boolean>
}

/**
 * Creates the function that authenticates clients. It throws `invalid_client` for an unknown client
 * and for a wrong, missing or superfluous secret alike: the error reveals no client ids. It throws
 * 429 `rate_limited` after many of these, and `unauthorized_client` for a suspended customer.
 */
export function createClientAuthentication(deps: ClientAuthenticationDeps): AuthenticateClient {
  const { clients, throttle, clock, hasGrant } = deps
  /** A stranger cannot make the server fetch a document: the client has a grant (§16.4). */
  const find = async (id: string, parameters: OauthParameters) => {
    if (!clients.acceptsDocument(id)) return clients.find(id)
    return (await hasGrant(id, parameters)) ? clients.findByDocument(id) : undefined
  }
  /** Returns the message of a credential that is not valid; undefined if it is. */
  const findFault = async (
    client: OauthClient | undefined,
    { secret, assertion }: ClientCredential,
    id: string,
  ): Promise<string | undefined> => {
    if (assertion === undefined) {
      if (!client || client.keys) return FAILED
      if (client.isPublic) return secret === undefined ? undefined : FAILED
      const isValid = secret !== undefined && verifyClientSecret(client, secret, clock.now())
      return isValid ? undefined : FAILED
    }
    try {
      if (!client?.keys) throw new AssertionFault('the client has no keys')
      const { id, keys, customer = '' } = client
      await verifyClientAssertion(deps, { id, keys, customer }, assertion)
      return undefined
    } catch (error) {
      if (!(error instanceof AssertionFault)) throw error
      deps.log.warn({ client_id: id, cause: error.message }, 'an assertion was rejected')
      return error.isPublic ? error.message : FAILED
    }
  }
  return async (call, parameters) => {
    const credential = readClientCredential(call.rawHeaders, parameters)
    const { assertion = '', isBasic } = credential
    const id = credential.id ?? readSubject(assertion)
    if (id === undefined) throw new OauthError('invalid_client', FAILED)
    throttle.check(id, call.address)
    const client = await find(id, parameters)
    const fault = await findFault(client, credential, id)
    if (!client || fault !== undefined) {
      throttle.recordFailure(id, call.address)
      const headers = isBasic ? CHALLENGE : {}
      throw new OauthError('invalid_client', fault ?? FAILED, headers)
    }
    const { customer, mode } = client
    if (customer !== undefined && mode !== undefined) {
      call.identified = { kind: 'client', subject: id, clientId: id, customer, mode }
    }
    if (client.suspended) throw new OauthError('unauthorized_client', 'This account is suspended.')
    return client
  }
}
