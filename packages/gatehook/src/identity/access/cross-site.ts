/**
 * Rejects cross-site request forgery (§10.7). A browser attaches Basic credentials and cookies by
 * itself, but never keys and tokens. The sign-in pages of OAuth have their own tickets against it.
 */

import { Failure } from '../../kernel/failure.ts'
import { parseAuthorization } from '../../protocol/http/authorization.ts'
import type { Call, Step } from '../../protocol/http/call.ts'

interface CrossSiteOptions {
  /** Returns the base of absolute links, once the service listens. */
  readonly publicUrl: () => string
  /** Returns whether CORS permits pages of an origin to send credentials. */
  readonly allows: (origin: string) => boolean
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const FOREIGN: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

/**
 * Returns the step that throws 403 `cross_site_request`. Safe methods pass (RFC 9110 §9.2.1). A
 * foreign `Origin` is rejected at `/mcp` with any credential (§16.11).
 */
export function crossSite({ publicUrl, allows }: CrossSiteOptions): Step {
  const isOwn = (call: Call, origin: string): boolean => {
    const requestOrigin = `${call.secure ? 'https' : 'http'}://${call.host}`
    const sender = origin.toLowerCase()
    return sender === requestOrigin.toLowerCase() || sender === new URL(publicUrl()).origin
  }
  return (call) => {
    const isAgentPath = call.kind === 'mcp' // also with a key: the page may have rebound its name
    if (SAFE.has(call.method) || !(isAgentPath || hasAmbientCredential(call))) return
    const { origin, 'sec-fetch-site': site } = call.headers
    const isForeign =
      site === undefined || isAgentPath
        ? origin !== undefined && !isOwn(call, origin)
        : FOREIGN.has(String(site).trim().toLowerCase())
    if (!isForeign || (origin !== undefined && allows(origin))) return
    throw new Failure('cross_site_request')
  }
}

/** Returns whether the browser may have attached the credential: Basic, or a session's cookie. */
function hasAmbientCredential(call: Call): boolean {
  const { authorization, cookie } = call.headers
  if (authorization !== undefined) return parseAuthorization(authorization).scheme === 'basic'
  const hasSession = call.kind === 'admin' || call.kind === 'portal'
  return hasSession && cookie !== undefined && call.headers['x-api-key'] === undefined
}
