import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose } from './socket-error.ts'

const error = (code: string, message = '') => Object.assign(new Error(message), { code })

test('errors of Node, OpenSSL and undici map to a reason and a message without addresses', () => {
  const reasons: readonly (readonly [Error, string])[] = [
    [error('ECONNREFUSED', 'connect ECONNREFUSED 10.1.2.3:443'), 'refused'],
    [error('ECONNRESET'), 'reset'],
    [error('EPIPE'), 'reset'],
    [error('UND_ERR_SOCKET', 'other side closed'), 'reset'],
    [error('UND_ERR_SOCKET', 'bad response'), 'protocol'],
    [error('ETIMEDOUT'), 'timeout'],
    [error('EHOSTUNREACH'), 'unreachable'],
    [error('ENETUNREACH'), 'unreachable'],
    [error('GATEHOOK_ADDRESS'), 'address'],
    [error('GATEHOOK_BLOCKED'), 'blocked'],
    [error('UND_ERR_HEADERS_OVERFLOW'), 'too_large'],
    [error('HPE_INVALID_CONSTANT'), 'protocol'],
    [error('CERT_HAS_EXPIRED'), 'tls'],
    [error('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls'],
    [error('ERR_SSL_WRONG_VERSION_NUMBER'), 'tls'],
    [error('EPROTO'), 'tls'],
    [error('UND_ERR_DESTROYED'), 'aborted'],
    [new Error('unexpected'), 'protocol'],
  ]
  for (const [cause, reason] of reasons) {
    const { message, ...diagnosis } = diagnose(cause)
    assert.deepEqual(diagnosis, { reason }, String(cause))
    assert.match(message, /^[a-z].*[^.]$/i)
    assert.doesNotMatch(message, /\d+\.\d+\.\d+|:\d/, 'an address of the sender’s network')
  }
})
