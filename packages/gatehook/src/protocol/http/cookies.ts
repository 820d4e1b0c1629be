/** Reads and writes the cookies of the server's own pages (RFC 6265bis). Pure. */
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Call } from './call.ts'

/** The parts of a request that cookies depend on. */
type CookieRequest = Pick<Call, 'headers' | 'secure'>

interface NewCookie {
  readonly name: string
  readonly value: string
  /** `none`: also in a frame of another site, in a partition of that site (CHIPS). */
  readonly sameSite: 'lax' | 'strict' | 'none'
  /** Lifetime in seconds; without it, the cookie ends with the browser session. */
  readonly maxAgeS?: number
}

/** On HTTPS, the prefix binds a cookie to this host (RFC 6265bis §4.1.3.2). */
const prefixName = ({ secure }: CookieRequest, name: string): string =>
  secure ? `__Host-${name}` : name

/** Returns the value as sent: cookies of this server need no percent-decoding. */
const verbatim = { decode: (value: string) => value }

/**
 * Returns the value of a cookie. Returns undefined if the cookie is absent or empty, and if the
 * request contains two of that name: another host may have set one of them.
 *
 * @see RFC 6265bis §5.6.3
 */
export function readCookie(request: CookieRequest, name: string): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined) return undefined
  const key = prefixName(request, name)
  // One pair at a time: of a repeated name, `parseCookie` returns the first value only.
  const values = cookie.split(';').flatMap((pair) => parseCookie(pair, verbatim)[key] ?? [])
  return values.length === 1 && values[0] !== '' ? values[0] : undefined
}

/** Returns a `Set-Cookie` line for the whole host, out of reach of scripts. */
export const setCookie = (request: CookieRequest, cookie: NewCookie): string =>
  stringifySetCookie({
    name: prefixName(request, cookie.name),
    value: cookie.value,
    path: '/',
    httpOnly: true,
    secure: request.secure,
    sameSite: cookie.sameSite,
    ...(cookie.sameSite === 'none' && { partitioned: true }),
    ...(cookie.maxAgeS !== undefined && { maxAge: cookie.maxAgeS }),
  })
