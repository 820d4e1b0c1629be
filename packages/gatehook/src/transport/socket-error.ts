/**
 * What an error of the network means for an attempt, in words a customer may read (§9.10). Pure.
 * The words tell nothing of the network the sender stands in; the log of the operator has the rest.
 */
import type { FailureReason } from './attempt.ts'

/** Codes of errors made in `transport.ts`, beside those of Node, OpenSSL and undici. */
export const CODE = {
  blocked: 'GATEHOOK_BLOCKED',
  dns: 'GATEHOOK_DNS',
  tooLong: 'GATEHOOK_TOO_LONG',
} as const

export const coded = (code: string): Error => Object.assign(new Error(code), { code })

export interface Diagnosis {
  readonly reason: FailureReason
  readonly message: string
}

const said: Readonly<Record<FailureReason, string>> = {
  timeout: 'no complete answer within the time',
  dns: 'the host name has no address',
  refused: 'the connection was refused',
  unreachable: 'the host could not be reached',
  reset: 'the connection ended before an answer',
  tls: 'TLS failed',
  blocked: 'the address is not allowed',
  too_large: 'the answer has too many or too long headers',
  protocol: 'the answer is not valid HTTP/1.1',
  aborted: 'the attempt was stopped',
}

export const diagnosis = (reason: FailureReason, message = said[reason]): Diagnosis => ({
  reason,
  message,
})

const untrusted = 'the certificate is not signed by an authority we trust'

/** Certificates have codes of their own, named as OpenSSL names them. */
const certificates: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate is revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
}

const codes: readonly (readonly [RegExp, FailureReason])[] = [
  [/^GATEHOOK_BLOCKED$/, 'blocked'],
  [/^GATEHOOK_DNS$/, 'dns'],
  [/^(GATEHOOK_TOO_LONG|UND_ERR_HEADERS_OVERFLOW|HPE_HEADER_OVERFLOW)$/, 'too_large'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'reset'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^(EHOST|ENET|EADDRNOTAVAIL|EACCES|EPERM|EINVAL)/, 'unreachable'],
  [/^(UND_ERR_DESTROYED|UND_ERR_CLOSED|UND_ERR_ABORTED)$/, 'aborted'],
  [/^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|INVALID_|HOSTNAME_|PATH_LENGTH)/, 'tls'],
]

/** undici's word for both an early end and an answer it cannot read. */
const ENDED = /^(other side closed|closed)$/

export function diagnose(error: unknown): Diagnosis {
  const { code = '', message = '' } = error as { code?: unknown; message?: string }
  const name = String(code)
  const certificate = certificates[name]
  if (certificate !== undefined) return diagnosis('tls', certificate)
  if (name === 'UND_ERR_SOCKET') return diagnosis(ENDED.test(message) ? 'reset' : 'protocol')
  return diagnosis(codes.find(([pattern]) => pattern.test(name))?.[1] ?? 'protocol')
}
