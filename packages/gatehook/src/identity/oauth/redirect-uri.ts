/**
 * Redirect URIs: which ones can be registered, and which registered one a request names (§5.1,
 * RFC 8252, RFC 9700 §4.1). They are compared as text: two URL parsers may disagree. Pure.
 */
import { isUri } from '../../kernel/uri.ts'

export const REDIRECT_URI_MAX = 2000

/** A host of the same machine, an optional port, and the rest. */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/

/** Parameters of responses. A client that reads the first value would not see the true one. */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error'] as const

/** Returns the reason why a URI cannot be registered; undefined if it can. */
export function findRegistrationFault(text: string): string | undefined {
  if (text.length > REDIRECT_URI_MAX) return `must have at most ${REDIRECT_URI_MAX} characters`
  if (!isUri(text) || /['*;,]/.test(text)) {
    return 'must be a URI of plain characters, percent-encoded where it needs to be, no wildcards'
  }
  if (text.includes('#')) return 'must not have a fragment'
  const url = URL.parse(text)
  if (!url) return 'must be an absolute URI'
  if (url.username !== '' || url.password !== '' || /^\w+:\/\/[^/?]*@/.test(text)) {
    return 'must not have a user name'
  }
  const own = RESPONSE_PARAMETERS.find((name) => url.searchParams.has(name))
  if (own !== undefined) return `must not have ${own} in its query: the response adds it`
  if (/^https:\/\/[^/?]/.test(text)) return undefined
  if (/^http:\/\/[^/?]/.test(text)) {
    return isLoopback(url) ? undefined : 'must be https; http is for 127.0.0.1, [::1] and localhost'
  }
  // A reverse domain name (RFC 8252 §7.1), which also excludes `javascript:` and `data:`.
  if (/^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/[^/]?/.test(text)) return undefined
  return 'must be https, http on a loopback address, or a scheme such as com.example.app:/callback'
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === '127.0.0.1' || hostname === '[::1]' || hostname === 'localhost'

/**
 * Returns whether a requested URI equals a registered one, character by character. The port of a
 * loopback address may differ, because a native app gets it from its operating system.
 *
 * @see RFC 8252 §7.3
 */
export function matchesRedirectUri(requested: string, registered: readonly string[]): boolean {
  if (registered.includes(requested)) return true
  const [, host, port, rest] = LOOPBACK.exec(requested) ?? []
  if (host === undefined || (port !== undefined && Number(port) > 65_535)) return false
  return registered.some((uri) => {
    const match = LOOPBACK.exec(uri)
    return match !== null && match[1] === host && match[3] === rest
  })
}

/**
 * Returns whether TLS authenticates the receiver of a redirect. On a device, another app can take
 * over a loopback port or a scheme.
 *
 * @see RFC 8252 §8.6
 */
export const isAuthenticated = (uri: string): boolean => uri.startsWith('https://')

/** Returns the host that the consent page names; for an app, its scheme. */
export function displayHost(uri: string): string {
  const url = new URL(uri)
  return url.host === '' ? url.protocol.slice(0, -1) : url.host
}

/**
 * Returns the source that allows a redirect in the `form-action` of a CSP. CSP has no source for an
 * IPv6 address, so there it returns the scheme.
 */
export function formActionSource(uri: string): string {
  const url = new URL(uri)
  if (url.host === '') return url.protocol
  return url.hostname.startsWith('[') ? url.protocol : `${url.protocol}//${url.host}`
}

/** Appends parameters to a URI and retains its query as it is (RFC 6749 §3.1.2). */
export function appendParameters(
  uri: string,
  parameters: Readonly<Record<string, string>>,
): string {
  const text = new URLSearchParams(parameters).toString()
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${text}`
}
