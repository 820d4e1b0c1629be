/**
 * Finds the credential of a request (§3.1, §3.3): exactly one, or none. Pure; `authenticate.ts`
 * verifies it.
 */

import { Failure } from '../../kernel/failure.ts'
import { parseAuthorization } from '../../protocol/http/authorization.ts'
import type { Call } from '../../protocol/http/call.ts'
import { headerLines, trimValue } from '../../protocol/http/header.ts'

export type Scheme = 'apikey' | 'bearer' | 'basic'

export interface Credential {
  readonly scheme: Scheme
  /** The text after the scheme; '' if there is none. */
  readonly value: string
  /** Sent as `?api_key=`, where logs and histories record it. */
  readonly inUrl: boolean
}

const SCHEMES: ReadonlySet<string> = new Set<Scheme>(['apikey', 'bearer', 'basic'])

/**
 * Returns the credential of a request; undefined if it has none. Throws 400 `token_in_url` and
 * `ambiguous_credentials`, and 401 `unauthorized` for an empty `Authorization` or an unsupported
 * scheme.
 */
export function parseCredential(call: Pick<Call, 'rawHeaders' | 'query'>): Credential | undefined {
  const authorizations = headerLines(call.rawHeaders, 'authorization')
  const keys = headerLines(call.rawHeaders, 'x-api-key')
  let urlKey: string | undefined
  let count = authorizations.length + keys.length
  for (const [name, value] of call.query.entries) {
    if (name === 'access_token') throw new Failure('token_in_url')
    if (name !== 'api_key') continue
    urlKey = value
    count++
  }
  // A proxy may have joined two lines with a comma (RFC 9110 §5.3); no key contains one.
  if (count > 1 || keys[0]?.includes(',')) throw new Failure('ambiguous_credentials')
  if (urlKey !== undefined) return { scheme: 'apikey', value: urlKey, inUrl: true }
  if (keys[0] !== undefined) return { scheme: 'apikey', value: trimValue(keys[0]), inUrl: false }
  if (authorizations[0] === undefined) return undefined
  const { scheme, value } = parseAuthorization(authorizations[0])
  if (!SCHEMES.has(scheme)) {
    throw new Failure('unauthorized', 'Authorization accepts the schemes ApiKey, Bearer and Basic.')
  }
  return { scheme: scheme as Scheme, value, inUrl: false }
}
