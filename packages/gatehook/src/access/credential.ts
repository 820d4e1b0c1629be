/**
 * Which credential a request carries (§3.1, §3.3): exactly one, or none. Pure; whether it is good
 * is judged elsewhere.
 */
import { parseAuthorization } from '../http/authorization.ts'
import type { Call } from '../http/call.ts'
import { headerLines, trimValue } from '../http/header.ts'
import { Failure } from '../kernel/failure.ts'

export type Scheme = 'apikey' | 'bearer' | 'basic'

export interface Credential {
  readonly scheme: Scheme
  /** What stands after the scheme; '' where nothing does. */
  readonly value: string
  /** Sent as `?api_key=`, where logs and histories see it. */
  readonly inUrl: boolean
}

const SCHEMES: ReadonlySet<string> = new Set<Scheme>(['apikey', 'bearer', 'basic'])

/**
 * Undefined where none was sent. Throws `token_in_url`, `ambiguous_credentials` (400),
 * `unauthorized` for an `Authorization` that is empty or of a scheme nobody knows.
 */
export function credentialOf(call: Pick<Call, 'rawHeaders' | 'query'>): Credential | undefined {
  const authorizations = headerLines(call.rawHeaders, 'authorization')
  // A proxy may have joined two lines with a comma (RFC 9110 §5.3); no key contains one.
  const keys = headerLines(call.rawHeaders, 'x-api-key').flatMap((line) => line.split(',', 2))
  const urlKeys: string[] = []
  for (const [name, value] of call.query.entries) {
    if (name === 'access_token') throw new Failure('token_in_url')
    if (name === 'api_key') urlKeys.push(value)
  }
  if (authorizations.length + keys.length + urlKeys.length > 1) {
    throw new Failure('ambiguous_credentials')
  }
  if (urlKeys[0] !== undefined) return { scheme: 'apikey', value: urlKeys[0], inUrl: true }
  if (keys[0] !== undefined) return { scheme: 'apikey', value: trimValue(keys[0]), inUrl: false }
  return authorizations[0] === undefined ? undefined : fromAuthorization(authorizations[0])
}

function fromAuthorization(header: string): Credential {
  const { scheme, value } = parseAuthorization(header)
  if (!SCHEMES.has(scheme)) {
    const message = 'Authorization takes the schemes ApiKey, Bearer and Basic.'
    throw new Failure('unauthorized', message)
  }
  return { scheme: scheme as Scheme, value, inUrl: false }
}
