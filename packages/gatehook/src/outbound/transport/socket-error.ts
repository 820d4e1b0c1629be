/**
 * Maps network errors to reasons and messages for the delivery log (§9.10). Customers read it, so a
 * message reveals nothing about the sender's network. Pure.
 */
import type { FailureReason } from './attempt.ts'

/**
 * Codes of errors that `outbound/transport/` creates, besides those of Node, OpenSSL and undici.
 */
export const CODE = {
  blocked: 'GATEHOOK_BLOCKED',
  address: 'GATEHOOK_ADDRESS',
  tooLong: 'GATEHOOK_TOO_LONG',
  interim: 'GATEHOOK_INTERIM',
} as const

export const createCodedError = (code: string): Error => Object.assign(new Error(code), { code })

export interface Diagnosis {
  readonly reason: FailureReason
  readonly message: string
}

const messages: Readonly<Record<FailureReason, string>> = {
  timeout: 'no complete response within the time limit',
  address: 'the host name leads to no address that may be called',
  refused: 'the connection was refused',
  unreachable: 'the host could not be reached',
  reset: 'the connection ended before a response',
  tls: 'TLS failed',
  blocked: 'the address is not allowed',
  too_large: 'the response has too many or too long headers',
  protocol: 'the response is not valid HTTP/1.1',
  aborted: 'the attempt was stopped',
}

export const describeFailure = (reason: FailureReason, message = messages[reason]): Diagnosis => ({
  reason,
  message,
})

const UNTRUSTED = 'the certificate is not signed by a trusted authority'

/** Error codes of certificates, as OpenSSL names them. */
const certificateMessages: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate is revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
}

const reasonsByCode: readonly (readonly [RegExp, FailureReason])[] = [
  [/^GATEHOOK_BLOCKED$/, 'blocked'],
  [/^GATEHOOK_ADDRESS$/, 'address'],
  [/^(GATEHOOK_TOO_LONG|UND_ERR_HEADERS_OVERFLOW|HPE_HEADER_OVERFLOW)$/, 'too_large'],
  [/^GATEHOOK_INTERIM$/, 'protocol'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'reset'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^(EHOST|ENET|EADDRNOTAVAIL|EACCES|EPERM|EINVAL)/, 'unreachable'],
  [/^(UND_ERR_DESTROYED|UND_ERR_CLOSED|UND_ERR_ABORTED)$/, 'aborted'],
  [/^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|INVALID_|HOSTNAME_|PATH_LENGTH)/, 'tls'],
]

/** undici uses one code for an early end and for a malformed response; the message differs. */
const EARLY_END = /^(other side closed|closed)$/

/** Returns the reason and the message for an error of Node, OpenSSL, undici or this module. */
export function diagnose(error: unknown): Diagnosis {
  const { code = '', message = '' } = error as { code?: unknown; message?: string }
  const name = String(code)
  const certificateMessage = certificateMessages[name]
  if (certificateMessage !== undefined) return describeFailure('tls', certificateMessage)
  if (name === 'UND_ERR_SOCKET') {
    return describeFailure(EARLY_END.test(message) ? 'reset' : 'protocol')
  }
  return describeFailure(reasonsByCode.find(([pattern]) => pattern.test(name))?.[1] ?? 'protocol')
}
