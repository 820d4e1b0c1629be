/**
 * Which credential a request carries (§3.1, §3.3): exactly one, or none. Pure; whether it is good
 * is judged elsewhere.
 */
import { readAuthorization, trimmed } from '../http/authorization.ts'
import type { Call } from '../http/call.ts'
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
  const inHeaders = headerCredentials(call.rawHeaders)
  const inUrl: string[] = []
  for (const [name, value] of call.query.entries) {
    if (name === 'access_token') throw new Failure('token_in_url')
    if (name === 'api_key') inUrl.push(value)
  }
  if (inHeaders.length + inUrl.length > 1) throw new Failure('ambiguous_credentials')
  if (inUrl[0] !== undefined) return { scheme: 'apikey', value: inUrl[0], inUrl: true }
  const [sent] = inHeaders
  if (!sent) return undefined
  if (sent.name === 'x-api-key') return { scheme: 'apikey', value: sent.value, inUrl: false }
  return fromAuthorization(sent.value)
}

interface Sent {
  readonly name: 'x-api-key' | 'authorization'
  readonly value: string
}

function headerCredentials(rawHeaders: readonly string[]): Sent[] {
  const sent: Sent[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at]!
    // Nine or thirteen characters, else it is neither: most headers are never lower-cased.
    if (raw.length !== 9 && raw.length !== 13) continue
    const name = raw.toLowerCase()
    const value = rawHeaders[at + 1]!
    if (name === 'authorization') sent.push({ name, value })
    // A proxy may have joined two lines with a comma (RFC 9110 §5.3); no key contains one.
    if (name === 'x-api-key') {
      for (const part of value.split(',', 2)) sent.push({ name, value: trimmed(part) })
    }
  }
  return sent
}

function fromAuthorization(header: string): Credential {
  const { scheme, value } = readAuthorization(header)
  if (!SCHEMES.has(scheme)) {
    const message = 'Authorization takes the schemes ApiKey, Bearer and Basic.'
    throw new Failure('unauthorized', message)
  }
  return { scheme: scheme as Scheme, value, inUrl: false }
}
