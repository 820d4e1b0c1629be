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
import { appendParameters, matchesRedirectUri } from './redirect-uri.ts'
import { parseScopes } from './scopes.ts'

/** OpenID Connect Core §3.1.2.1. */
const PROMPTS: ReadonlySet<string> = new Set(['none', 'login', 'consent', 'select_account'])

/** The client and the registered URI that receives the response. */
export interface RedirectTarget {
  readonly client: OauthClient
  readonly redirectUri: string
  readonly state: string | undefined
}

export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly string[]
  /** The resources that it names; undefined: none. */
  readonly audience: readonly string[] | undefined
  readonly challenge: string
  readonly prompt: ReadonlySet<string>
}

const untrustedRequest = (message: string) =>
  new Failure('invalid_request', `${message} Nothing was sent to the application.`)

/**
 * Validates client and redirect URI. Throws the failure 400 `invalid_request`, which the server
 * renders as a page instead of a redirect.
 *
 * @see RFC 6749 §4.1.2.1
 */
export async function findRedirectTarget(
  parameters: OauthParameters,
  clients: Pick<ClientCache, 'find'>,
): Promise<RedirectTarget> {
  const id = parameters.get('client_id')
  const client = id === undefined ? undefined : await clients.find(id)
  if (!client) throw untrustedRequest('The application that sent you here is not registered.')
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined)
    throw untrustedRequest('The application named no address to return to.')
  if (!matchesRedirectUri(redirectUri, client.redirectUris)) {
    throw untrustedRequest(
      'The application named an address to return to that is not registered for it.',
    )
  }
  return { client, redirectUri, state: parameters.get('state') }
}

/** Validates the other parameters. Throws `OauthError`. */
export function parseAuthorizationRequest(
  parameters: OauthParameters,
  target: RedirectTarget,
  audiences: Pick<Audiences, 'all'>,
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
  const audience = selectAudience(resourcesOf(parameters), audiences.all())
  const scopes = parseScopes(parameters.get('scope'), client.scopes)
  return { ...target, scopes, audience, challenge, prompt }
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
