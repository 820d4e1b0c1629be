/**
 * Validates an authorization request (§5.1): first client and redirect URI, then all other
 * parameters, whose errors are returned to the client by a redirect. Pure, except for the client's
 * look-up.
 */
import { Failure } from '../../kernel/failure.ts'
import { type Audiences, selectAudience } from '../tokens/audience.ts'
import type { OauthClient } from './client.ts'
import type { ClientCache } from './client-cache.ts'
import { OauthError, type OauthErrorCode } from './oauth-error.ts'
import { type OauthParameters, requireParameter, resourcesOf } from './parameters.ts'
import { isChallenge } from './pkce.ts'
import { appendParameters, findRegistrationFault, matchesRedirectUri } from './redirect-uri.ts'
import { identityScopesOf, parseScopes } from './scopes.ts'

export const AUTHORIZE_PATH = '/oauth/authorize'

/** OpenID Connect Core §3.1.2.1. */
const PROMPTS: ReadonlySet<string> = new Set(['none', 'login', 'consent', 'select_account'])

/** The code stores it, and the ID token repeats it. */
const NONCE = /^[^\p{C}\p{Zl}\p{Zp}]{1,1000}$/u

/** The client and the registered URI that receives the response. */
export interface RedirectTarget {
  readonly client: OauthClient
  readonly redirectUri: string
  readonly state: string | undefined
  /** Whether errors may be returned to the URI: see `isTrustedTarget`. */
  readonly isVerified: boolean
}

export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly string[]
  /** The resources that it names; undefined: none. */
  readonly audience: readonly string[] | undefined
  readonly challenge: string
  readonly prompt: ReadonlySet<string>
  /** The longest time since the sign-in, in milliseconds (OpenID Connect Core §3.1.2.1). */
  readonly maxAgeMs: number | undefined
  readonly nonce: string | undefined
}

export const untrustedRequest = (message: string) =>
  new Failure('invalid_request', `${message} Nothing was sent to the application.`)

type FindClient = Pick<ClientCache, 'find' | 'acceptsDocument' | 'findByDocument' | 'unread'>

/** Every failure of a document reads the same: it reveals nothing about the server's network. */
const UNREADABLE =
  'invalid_client: the document that describes the application could not be read or is not valid.'

/**
 * Validates client and redirect URI. Throws the failure 400 `invalid_request`, which the server
 * renders as a page instead of a redirect. The document of a client is read for a person who is
 * signed in (§16.4); before that, the target is not verified.
 *
 * @param person identifies the person who is signed in
 * @see RFC 6749 §4.1.2.1
 */
export async function findRedirectTarget(
  parameters: OauthParameters,
  clients: FindClient,
  person: string | undefined,
): Promise<RedirectTarget> {
  const id = parameters.get('client_id') ?? ''
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined)
    throw untrustedRequest('The application named no address to return to.')
  const hasDocument = clients.acceptsDocument(id)
  const isRead = !hasDocument || person !== undefined
  const client = await (hasDocument
    ? isRead
      ? clients.findByDocument(id, person)
      : clients.unread(id, redirectUri)
    : clients.find(id))
  if (!client) {
    const unregistered = 'The application that sent you here is not registered.'
    throw untrustedRequest(hasDocument ? UNREADABLE : unregistered)
  }
  const isRegistered = isRead
    ? matchesRedirectUri(redirectUri, client.redirectUris)
    : findRegistrationFault(redirectUri) === undefined
  if (!isRegistered) {
    throw untrustedRequest(
      'The application named an address to return to that is not registered for it.',
    )
  }
  const isVerified = isTrustedTarget(client, person)
  return { client, redirectUri, state: parameters.get('state'), isVerified }
}

/**
 * Whether an error is returned to the client. A stranger chooses the redirect URIs of a client that
 * registered itself without a key, or has a document: before a sign-in, links to this server would
 * lead anywhere.
 *
 * @see RFC 9700 §4.11.2
 */
const isTrustedTarget = (
  { describesItself, scope }: OauthClient,
  person: string | undefined,
): boolean => person !== undefined || !describesItself || scope !== undefined

/** Validates the other parameters. Throws `OauthError`. */
export function parseAuthorizationRequest(
  parameters: OauthParameters,
  target: RedirectTarget,
  audiences: Pick<Audiences, 'all' | 'own'>,
): AuthorizationRequest {
  const { client } = target
  rejectRequestObjects(parameters)
  if (requireParameter(parameters, 'response_type') !== 'code') {
    throw new OauthError('unsupported_response_type', 'Only response_type=code is supported.')
  }
  if ((parameters.get('response_mode') ?? 'query') !== 'query') {
    throw new OauthError('invalid_request', 'Only response_mode=query is supported.')
  }
  if (client.suspended || !client.grantTypes.includes('authorization_code')) {
    throw new OauthError('unauthorized_client', 'The client may not use this grant.')
  }
  const challenge = parameters.get('code_challenge')
  if (challenge === undefined) {
    throw new OauthError('invalid_request', 'PKCE is required: code_challenge is missing.')
  }
  // RFC 7636 §4.3: the default method is plain.
  if (parameters.get('code_challenge_method') !== 'S256') {
    throw new OauthError('invalid_request', 'Only code_challenge_method=S256 is supported.')
  }
  if (!isChallenge(challenge)) {
    throw new OauthError('invalid_request', 'code_challenge is not a SHA-256 in base64url.')
  }
  const prompt = new Set((parameters.get('prompt') ?? '').split(' ').filter(Boolean))
  const isValidPrompt =
    [...prompt].every((value) => PROMPTS.has(value)) && (!prompt.has('none') || prompt.size === 1)
  if (!isValidPrompt) {
    throw new OauthError('invalid_request', 'prompt is none, or some of login and consent.')
  }
  const audience = audienceOf(client, resourcesOf(parameters), audiences)
  const scopes = parseScopes(parameters.get('scope'), client.scopes, identityScopesOf(client))
  const { maxAgeMs, nonce } = parseAuthentication(parameters)
  return { ...target, scopes, audience, challenge, prompt, maxAgeMs, nonce }
}

function parseAuthentication(parameters: OauthParameters) {
  const maxAge = parameters.get('max_age')
  const nonce = parameters.get('nonce')
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge)) {
    throw new OauthError('invalid_request', 'max_age is a number of seconds.')
  }
  if (nonce !== undefined && !NONCE.test(nonce)) {
    throw new OauthError('invalid_request', 'nonce has at most 1,000 visible characters.')
  }
  return { maxAgeMs: maxAge === undefined ? undefined : Number(maxAge) * 1000, nonce }
}

/**
 * Returns the audience of a grant; undefined: the standard one. A client that describes itself gets
 * the resources of this server alone, by default the whole service (§16.2).
 */
function audienceOf(
  client: Pick<OauthClient, 'describesItself'>,
  resources: readonly string[],
  audiences: Pick<Audiences, 'all' | 'own'>,
): readonly string[] | undefined {
  if (!client.describesItself) return selectAudience(resources, audiences.all())
  const own = audiences.own()
  return selectAudience(resources, own) ?? own.slice(0, 1)
}

/**
 * Rejects request objects with their own error codes (§5.4). A server that ignored one would serve
 * a request that the client did not sign.
 *
 * @see OpenID Connect Core §3.1.2.6, §6
 */
function rejectRequestObjects(parameters: OauthParameters): void {
  if (parameters.has('request')) {
    throw new OauthError('request_not_supported', 'The parameter request is not supported.')
  }
  if (parameters.has('request_uri')) {
    throw new OauthError('request_uri_not_supported', 'The parameter request_uri is not supported.')
  }
}

type AuthorizationResponse =
  | { readonly code: string }
  | { readonly error: OauthErrorCode; readonly error_description: string }

/** Returns the URI of a redirect to the client, with `state` and `iss` (RFC 9207 §2). */
export const responseUri = (
  { redirectUri, state }: RedirectTarget,
  issuer: string,
  response: AuthorizationResponse,
): string =>
  appendParameters(redirectUri, {
    ...response,
    ...(state !== undefined && { state }),
    iss: issuer,
  })

/** Returns the authorization request without the parameters that the sign-in has satisfied. */
export function resumePath(search: string): string {
  const parameters = new URLSearchParams(search)
  const prompts = (parameters.get('prompt') ?? '')
    .split(' ')
    .filter((prompt) => prompt !== 'login' && prompt !== 'select_account')
  if (prompts.join('') === '') parameters.delete('prompt')
  else parameters.set('prompt', prompts.join(' '))
  parameters.delete('max_age')
  return `${AUTHORIZE_PATH}?${parameters}`
}
