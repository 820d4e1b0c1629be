/**
 * URIs by RFC 3986, as `format: uri` of OpenAPI promises them. `URL` accepts more: it removes tabs
 * and line breaks, and reads a backslash as a slash, so that the checked host is not the stored
 * one. A valid text is stored as it was sent. Pure.
 */

import { isIPv6 } from 'node:net'

/** A character that no URI has, or a percent sign without two hexadecimal digits. */
const INVALID = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]|%(?![\dA-Fa-f]{2})/
/** Validators reject an empty path without an authority, which RFC 3986 allows. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?=[^?#])/i
const AUTHORITY = /^\/\/([^/?#]*)/
/** A name or an IPv6 address in brackets, then a port. */
const HOST = /^(?:\[([\dA-Fa-f:.]+)\]|[^:[\]]*)(?::\d*)?$/
const BRACKET = /[[\]]/

/** Whether a text has the syntax of a URI of any scheme. */
export function isUri(text: string): boolean {
  const scheme = SCHEME.exec(text)?.[0]
  if (scheme === undefined || INVALID.test(text)) return false
  const hierarchy = text.slice(scheme.length)
  const [slashes = '', authority = ''] = AUTHORITY.exec(hierarchy) ?? []
  const rest = hierarchy.slice(slashes.length)
  const hasOneFragment = rest.indexOf('#') === rest.lastIndexOf('#')
  return isAuthority(authority) && hasOneFragment && !BRACKET.test(rest)
}

/** A user, which needs an `@`, then a host with a port. */
function isAuthority(text: string): boolean {
  const at = text.indexOf('@')
  const host = HOST.exec(text.slice(at + 1))
  return (
    host !== null &&
    (host[1] === undefined || isIPv6(host[1])) &&
    !text.includes('@', at + 1) &&
    !BRACKET.test(text.slice(0, at + 1))
  )
}

/** Whether a text is an absolute http or https URL, whose characters are those of a URI. */
export const isWebUrl = (text: string): boolean =>
  /^https?:\/\/[^/?#]/i.test(text) && isUri(text) && URL.canParse(text)

/** Returns the path of an absolute URL without a final slash; '' for the root. */
export const pathOfUrl = (url: string): string => new URL(url).pathname.replace(/\/$/, '')
