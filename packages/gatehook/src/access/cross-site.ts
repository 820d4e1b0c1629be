/**
 * Refuses requests that another site made a browser send (§10.7). A browser attaches Basic
 * credentials and cookies by itself; keys and tokens it does not. The sign-in pages of OAuth have
 * tickets of their own against this.
 */
import { parseAuthorization } from '../http/authorization.ts'
import type { Call, Step } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'

export interface CrossSiteOptions {
  /** The configured base of absolute links; known once the service listens. */
  readonly publicUrl: () => string
  /** Whether CORS lets pages of an origin send credentials. */
  readonly allows: (origin: string) => boolean
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const FOREIGN: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

/** Throws 403 `cross_site_request`. Methods that change nothing are served. */
export function crossSite({ publicUrl, allows }: CrossSiteOptions): Step {
  const isOwn = (call: Call, origin: string): boolean => {
    const here = `${call.secure ? 'https' : 'http'}://${call.host}`
    const sent = origin.toLowerCase()
    return sent === here.toLowerCase() || sent === new URL(publicUrl()).origin
  }
  return (call) => {
    if (SAFE.has(call.method) || !hasAmbientCredential(call)) return
    const { origin, 'sec-fetch-site': site } = call.headers
    const foreign =
      site === undefined
        ? origin !== undefined && !isOwn(call, origin)
        : FOREIGN.has(String(site).trim().toLowerCase())
    if (!foreign || (origin !== undefined && allows(origin))) return
    throw new Failure('cross_site_request')
  }
}

/** Basic anywhere; a cookie where a session of the console authenticates. */
function hasAmbientCredential(call: Call): boolean {
  const { authorization, cookie } = call.headers
  if (authorization !== undefined) return parseAuthorization(authorization).scheme === 'basic'
  return call.kind === 'admin' && cookie !== undefined && call.headers['x-api-key'] === undefined
}
