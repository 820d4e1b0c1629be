/**
 * Where a browser may be sent back to: what can be registered, and what a request may name of it
 * (§5.1, RFC 8252, RFC 9700 §4.1). Compared as text, never as parsed URLs: two parsers, two
 * meanings. Pure.
 */

const MAX_LENGTH = 2000

/** `http://127.0.0.1` or `http://[::1]`, with or without a port; what follows is compared. */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/

/** Why a URI cannot be registered, or undefined where it can. */
export function whyNotRegistrable(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  if (!/^[\x21-\x7e]+$/.test(text) || /["'<>\\^`{|}*;,]/.test(text)) {
    return 'must be a URI of plain characters, percent-encoded where it needs to be, no wildcards'
  }
  if (text.includes('#')) return 'must not have a fragment'
  const url = URL.parse(text)
  if (!url) return 'must be an absolute URI'
  if (url.username !== '' || url.password !== '' || /^\w+:\/\/[^/?]*@/.test(text)) {
    return 'must not have a user name'
  }
  if (/^https:\/\/[^/?]/.test(text)) return undefined
  if (/^http:\/\/[^/?]/.test(text)) {
    return isLocal(url) ? undefined : 'must be https; http is for 127.0.0.1, [::1] and localhost'
  }
  // RFC 8252 §7.1: a name the app's owner holds, so that `javascript:` and its like cannot be.
  if (/^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/[^/]?/.test(text)) return undefined
  return 'must be https, http on a loopback address, or a scheme such as com.example.app:/callback'
}

const isLocal = ({ hostname }: URL): boolean =>
  hostname === '127.0.0.1' || hostname === '[::1]' || hostname === 'localhost'

/**
 * Whether a request may name `asked`: character by character what was registered, but for the port
 * of a loopback address, which an app on the person's machine cannot choose beforehand
 * (RFC 8252 §7.3).
 */
export function matchesRedirect(asked: string, registered: readonly string[]): boolean {
  if (registered.includes(asked)) return true
  const [, host, port, rest] = LOOPBACK.exec(asked) ?? []
  if (host === undefined || (port !== undefined && Number(port) > 65_535)) return false
  return registered.some((one) => {
    const known = LOOPBACK.exec(one)
    return known !== null && known[1] === host && known[3] === rest
  })
}

/**
 * Whether nobody but the client's owner can be behind a redirect: a server's name with TLS. Apps
 * on a machine can take the place of each other on a loopback port or a scheme (RFC 8252 §8.6).
 */
export const isClaimed = (uri: string): boolean => uri.startsWith('https://')

/** The host a person is told they return to, or the scheme of an app. */
export function shownHost(uri: string): string {
  const url = new URL(uri)
  return url.host === '' ? url.protocol.slice(0, -1) : url.host
}

/**
 * The source of a CSP's `form-action` that lets a redirect through. Browsers know no source for an
 * IPv6 address, so there the scheme has to do.
 */
export function formActionSource(uri: string): string {
  const url = new URL(uri)
  if (url.host === '') return url.protocol
  return url.hostname.startsWith('[') ? url.protocol : `${url.protocol}//${url.host}`
}

/** `uri` with more parameters; those it has stay as they are (RFC 6749 §3.1.2). */
export function withParameters(uri: string, parameters: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(parameters).toString()
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${text}`
}
