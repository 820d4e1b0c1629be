/**
 * `GET /oauth/authorize`: what is asked, judged (§5.1). First whether the browser may be sent back
 * at all; only then is anything told by a redirect.
 */
import { Failure } from '../kernel/failure.ts'
import type { Client } from './client.ts'
import type { Parameters } from './form.ts'
import { needed } from './form.ts'
import type { KnownClients } from './known-clients.ts'
import { isChallenge } from './pkce.ts'
import { matchesRedirect, withParameters } from './redirect-uri.ts'
import { Refusal, type RefusalName } from './refusal.ts'
import { askedScopes } from './scope.ts'

const PROMPTS: ReadonlySet<string> = new Set(['none', 'login', 'consent', 'select_account'])

/** Where the answer goes. */
export interface ReturnAddress {
  readonly client: Client
  readonly redirectUri: string
  readonly state: string | undefined
}

export interface AuthorizationRequest extends ReturnAddress {
  readonly scopes: readonly string[]
  readonly challenge: string
  readonly prompt: ReadonlySet<string>
}

const untrusted = (what: string) =>
  new Failure('invalid_request', `${what} Nothing was sent to the application.`)

/** Throws `invalid_request`, for a page: the browser is not sent anywhere (RFC 6749 §4.1.2.1). */
export async function returnAddress(
  parameters: Parameters,
  find: KnownClients['find'],
): Promise<ReturnAddress> {
  const id = parameters.get('client_id')
  const client = id === undefined ? undefined : await find(id)
  if (!client) throw untrusted('The application that sent you here is not known.')
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined) throw untrusted('The application did not say where to return to.')
  if (!matchesRedirect(redirectUri, client.redirectUris)) {
    throw untrusted('The application named an address to return to that is not registered for it.')
  }
  return { client, redirectUri, state: parameters.get('state') }
}

/** Throws `Refusal`s that the application is told of by a redirect. */
export function authorizationRequest(
  parameters: Parameters,
  address: ReturnAddress,
): AuthorizationRequest {
  const { client } = address
  refuseRequestObjects(parameters)
  const type = needed(parameters, 'response_type')
  if (type !== 'code') {
    throw new Refusal('unsupported_response_type', 'Only response_type=code is served.')
  }
  if ((parameters.get('response_mode') ?? 'query') !== 'query') {
    throw new Refusal('invalid_request', 'Only response_mode=query is served.')
  }
  if (client.suspended || !client.grantTypes.includes('authorization_code')) {
    throw new Refusal('unauthorized_client', 'The client may not use this grant.')
  }
  const challenge = parameters.get('code_challenge')
  if (challenge === undefined) {
    throw new Refusal('invalid_request', 'PKCE is required: code_challenge is missing.')
  }
  // RFC 7636 §4.3: where no method is named, plain is meant.
  if (parameters.get('code_challenge_method') !== 'S256') {
    throw new Refusal('invalid_request', 'Only code_challenge_method=S256 is served.')
  }
  if (!isChallenge(challenge)) {
    throw new Refusal('invalid_request', 'code_challenge is not a SHA-256 in base64url.')
  }
  const prompt = new Set((parameters.get('prompt') ?? '').split(' ').filter(Boolean))
  const odd =
    [...prompt].some((one) => !PROMPTS.has(one)) || (prompt.has('none') && prompt.size > 1)
  if (odd) throw new Refusal('invalid_request', 'prompt is none, or some of login and consent.')
  const scopes = askedScopes(parameters.get('scope'), client.scopes)
  return { ...address, scopes, challenge, prompt }
}

/**
 * Request objects are refused by name (§5.4, OpenID Connect Core §6): a server that ignores one
 * serves a request that the client did not sign.
 */
function refuseRequestObjects(parameters: Parameters): void {
  if (parameters.has('request')) {
    throw new Refusal('request_not_supported', 'The parameter request is not supported.')
  }
  if (parameters.has('request_uri')) {
    throw new Refusal('request_uri_not_supported', 'The parameter request_uri is not supported.')
  }
}

/** The address with a code, and with who gave it (RFC 9207). */
export const withCode = (address: ReturnAddress, issuer: string, code: string): string =>
  returning(address, issuer, { code })

export const withError = (
  address: ReturnAddress,
  issuer: string,
  error: RefusalName,
  description: string,
): string => returning(address, issuer, { error, error_description: description })

const returning = (
  { redirectUri, state }: ReturnAddress,
  issuer: string,
  parameters: Record<string, string>,
): string =>
  withParameters(redirectUri, {
    ...parameters,
    ...(state !== undefined && { state }),
    iss: issuer,
  })
