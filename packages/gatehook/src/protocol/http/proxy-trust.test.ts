import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import type { Call, Kind, Step } from './call.ts'
import { createOriginResolver, requireHttps, requireServedHost } from './proxy-trust.ts'

const resolve = (trust: string | undefined, remote: string, headers: IncomingHttpHeaders = {}) =>
  createOriginResolver(trust)(remote, false, headers, 'requested.example')

const codeOf = (step: Step, call: Partial<Call>): string => {
  try {
    step({ kind: 'api', ...call } as Call)
    return 'passed'
  } catch (error) {
    assert(error instanceof Failure)
    return error.code
  }
}

const forged = {
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'evil.example',
}

test('headers of untrusted peers are ignored', () => {
  for (const trust of [undefined, '', '10.0.0.0/8']) {
    assert.deepEqual(resolve(trust, '127.0.0.1', forged), {
      address: '127.0.0.1',
      secure: false,
      local: true,
      host: 'requested.example',
    })
  }
  assert.equal(resolve(undefined, '192.0.2.1', forged).local, false)
})

test('the headers of a trusted proxy count', () => {
  for (const trust of ['10.1.2.3', '10.0.0.0/8', '192.0.2.1, 10.1.0.0/16', '::ffff:10.1.2.3']) {
    for (const remote of ['10.1.2.3', '::ffff:10.1.2.3']) {
      assert.deepEqual(resolve(trust, remote, forged), {
        address: '203.0.113.9',
        secure: true,
        local: false,
        host: 'evil.example',
      })
    }
  }
})

test('the client is the first untrusted address from the right', () => {
  const address = (chain: string) =>
    resolve('10.0.0.0/8, fd00::/8', '10.0.0.1', { 'x-forwarded-for': chain }).address
  assert.equal(address('1.1.1.1, 203.0.113.9'), '203.0.113.9')
  assert.equal(address('1.1.1.1, 203.0.113.9, 10.0.0.2'), '203.0.113.9')
  assert.equal(address('203.0.113.9:4711'), '203.0.113.9')
  assert.equal(address('[2001:db8::1]:443'), '2001:db8::1')
  assert.equal(address('2001:DB8::1, fd00::2'), '2001:db8::1')
  assert.equal(address('10.0.0.3, 10.0.0.2'), '10.0.0.3')
  assert.equal(address('1.1.1.1, unknown'), '10.0.0.1')
  assert.equal(address(''), '10.0.0.1')
})

test('the scheme is the one that the outermost trusted proxy wrote', () => {
  const secure = (proto: string, chain = '203.0.113.9') =>
    resolve('10.0.0.0/8', '10.0.0.1', { 'x-forwarded-for': chain, 'x-forwarded-proto': proto })
      .secure
  assert.equal(secure('https'), true)
  assert.equal(secure('HTTPS'), true)
  assert.equal(secure('http'), false)
  assert.equal(secure('https, http'), false, 'the client sent https, the proxy http')
  assert.equal(secure('https, http', '203.0.113.9, 10.0.0.2'), true, 'two proxies')
  assert.equal(resolve('10.0.0.1', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1' }).secure, false)
})

test('plain HTTP is accepted from loopback and for probes only', () => {
  assert.equal(codeOf(requireHttps, { secure: true, local: false }), 'passed')
  assert.equal(codeOf(requireHttps, { secure: false, local: true }), 'passed')
  assert.equal(codeOf(requireHttps, { secure: false, local: false }), 'https_required')
  const probe: { kind: Kind; secure: boolean } = { kind: 'probe', secure: false }
  assert.equal(codeOf(requireHttps, { ...probe, local: false }), 'passed')
})

test('only the public host and the bound address are served', () => {
  const step = requireServedHost({ publicUrl: 'https://API.example:8443/base', host: '127.0.0.1' })
  for (const host of [
    'api.example',
    'API.EXAMPLE:1',
    'api.example.',
    'localhost:8787',
    '[::1]:8787',
    '127.0.0.1',
    '127.9.9.9:80',
    'x.localhost',
  ]) {
    assert.equal(codeOf(step, { host }), 'passed', host)
  }
  for (const host of [
    '',
    'evil.example',
    'api.example.evil.example',
    'api.example@evil.example',
    '127.0.0.1.evil.example',
    ':80',
    'api.example:80:80',
    '192.0.2.1',
  ]) {
    assert.equal(codeOf(step, { host }), 'misdirected_request', host)
  }
  assert.equal(codeOf(step, { host: 'evil.example', kind: 'probe' }), 'passed')
})

test('a server bound to another address rejects loopback names', () => {
  const step = requireServedHost({ publicUrl: 'https://api.example', host: '2001:db8::5' })
  assert.equal(codeOf(step, { host: 'localhost' }), 'misdirected_request')
  assert.equal(codeOf(step, { host: '[2001:db8::5]:443' }), 'passed')
})

test('a long list of a client is read from its right end alone', () => {
  const resolve = createOriginResolver('10.0.0.0/8')
  const addressIn = (list: string) =>
    resolve('10.0.0.1', false, { 'x-forwarded-for': list }, 'h').address
  assert.equal(addressIn(`${','.repeat(15_000)}192.0.2.1`), '192.0.2.1')
  assert.equal(addressIn('192.0.2.7,'), '10.0.0.1')
  assert.equal(addressIn('192.0.2.7, 10.0.0.2 , 10.0.0.3:80'), '192.0.2.7')
  assert.equal(addressIn(`192.0.2.7${',10.0.0.2'.repeat(100)}`), '10.0.0.2')
  const { host } = resolve('10.0.0.1', false, { 'x-forwarded-host': 'a, b' }, 'h')
  assert.equal(host, 'b')
})
