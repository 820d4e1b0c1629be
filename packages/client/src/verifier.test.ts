/** The cache, the outage and the middleware of the verifier, with a service of the test. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import {
  createVerifier,
  GatehookError,
  type VerifierOptions,
  VerifierUnavailable,
} from './client.ts'
import { fakeVerifier } from './fake-verifier.ts'
import type { Verification } from './verification.ts'
import { createVerifierCache } from './verifier-cache.ts'

const ACTIVE = { active: true, scopes: ['reports:read'], expires_at: null, customer: 'cus_1' }
const REFUSED = { active: false, reason: 'revoked', status: 403, headers: { 'x-a': 'b' } }

type Answer = object | number | 'away'

/** A verifier of a service whose next answers the test chooses. */
function openVerifier(options: Partial<VerifierOptions> = {}) {
  const state = {
    now: 1_000_000,
    answer: ACTIVE as Answer,
    questions: [] as unknown[],
    failures: [] as string[],
  }
  const fetch = (async (url: string, init: RequestInit) => {
    assert.equal(url, 'http://gatehook.test/keys/verify')
    state.questions.push(JSON.parse(String(init.body)))
    if (state.answer === 'away') throw new TypeError('fetch failed')
    if (typeof state.answer === 'number')
      return Response.json({ error: 'x' }, { status: state.answer })
    return Response.json(state.answer)
  }) as typeof globalThis.fetch
  const now = () => state.now
  const verifier = createVerifier({
    url: 'http://gatehook.test/',
    key: 'k',
    fetch,
    now,
    onFailure: ({ code }) => state.failures.push(code),
    ...options,
  })
  return { state, verifier }
}

test('an active answer is cached for cacheS, a refusal for 1 s, with a cost nothing', async () => {
  const { state, verifier } = openVerifier({ cacheS: 5 })
  const ask = async (more = {}) => (await verifier.verify({ credential: 'c', ...more })).active
  const countOf = async (more = {}) => {
    const before = state.questions.length
    await ask(more)
    return state.questions.length - before
  }
  assert.deepEqual([await countOf(), await countOf()], [1, 0])
  for (const more of [{ scopes: ['a'] }, { address: '192.0.2.1' }, { resource: 'r' }]) {
    assert.deepEqual([await countOf(more), await countOf(more)], [1, 0], 'all inputs together')
  }
  state.now += 4999
  assert.equal(await countOf(), 0)
  state.now += 1
  state.answer = REFUSED
  assert.deepEqual([await countOf(), await countOf()], [1, 0])
  assert.equal(await ask(), false, 'a refusal replaces the active answer')
  state.now += 1000
  assert.equal(await countOf(), 1)
  assert.deepEqual([await countOf({ cost: 1 }), await countOf({ cost: 1 })], [1, 1])
})

test('no cache outlives the credential', async () => {
  const { state, verifier } = openVerifier({ staleS: 300 })
  state.answer = { ...ACTIVE, expires_at: new Date(state.now + 1000).toISOString() }
  assert.equal((await verifier.verify({ credential: 'c' })).active, true)
  state.now += 1000
  state.answer = 'away'
  await assert.rejects(verifier.verify({ credential: 'c' }), VerifierUnavailable)
})

test('while the service is away, the last active answer serves until staleS', async () => {
  const { state, verifier } = openVerifier({ staleS: 60 })
  await verifier.verify({ credential: 'c' })
  for (const answer of ['away', 500, 503] as const) {
    state.answer = answer
    state.now += 10_000
    assert.equal((await verifier.verify({ credential: 'c' })).active, true, String(answer))
    await assert.rejects(verifier.verify({ credential: 'c', cost: 1 }), VerifierUnavailable)
    await assert.rejects(verifier.verify({ credential: 'other' }), VerifierUnavailable)
  }
  state.now += 30_000
  await assert.rejects(verifier.verify({ credential: 'c' }), VerifierUnavailable)
  const strict = openVerifier()
  await strict.verifier.verify({ credential: 'c' })
  strict.state.now += 5000
  strict.state.answer = 'away'
  await assert.rejects(strict.verifier.verify({ credential: 'c' }), VerifierUnavailable)
  assert.throws(() => openVerifier({ cacheS: 6 }), RangeError)
  assert.throws(() => openVerifier({ staleS: 301 }), RangeError)
})

test('the application sees why a verification failed', async () => {
  const { state, verifier } = openVerifier({ staleS: 60 })
  await verifier.verify({ credential: 'c' })
  state.now += 10_000
  for (const answer of ['away', 500, 403] as const) {
    state.answer = answer
    await verifier.verify({ credential: 'c' }).catch(() => {})
  }
  assert.deepEqual(state.failures, ['network_error', 'x', 'x'])
})

test('no cached answer grows older because the clock was set back', async () => {
  const { state, verifier } = openVerifier({ staleS: 60 })
  await verifier.verify({ credential: 'c' })
  state.now -= 3_600_000
  state.answer = REFUSED
  assert.equal((await verifier.verify({ credential: 'c' })).active, false)
})

test('a rejection ends the cached answers of its credential: a 429 is no outage', async () => {
  for (const [status, error] of [
    [429, VerifierUnavailable],
    [403, GatehookError],
    [404, GatehookError],
  ] as const) {
    const { state, verifier } = openVerifier({ staleS: 300 })
    await verifier.verify({ credential: 'c' })
    await verifier.verify({ credential: 'c', address: '192.0.2.1' })
    state.now += 5000
    state.answer = status
    await assert.rejects(verifier.verify({ credential: 'c' }), error, String(status))
    state.answer = 'away'
    for (const address of [undefined, '192.0.2.1']) {
      await assert.rejects(verifier.verify({ credential: 'c', address }), VerifierUnavailable)
    }
  }
})

test('a credential that has ended is not active for other inputs', async () => {
  for (const [more, isEnded] of [
    [{ reason: 'revoked' }, true],
    [{ reason: 'expired' }, true],
    [{ reason: 'suspended' }, true],
    [{ reason: 'unknown' }, true],
    [{ reason: 'address' }, false],
    [{ reason: 'scope' }, false],
    [{ reason: 'limited' }, false],
  ] as const) {
    const { state, verifier } = openVerifier({ staleS: 300 })
    const here = { credential: 'c', address: '192.0.2.1' }
    await verifier.verify(here)
    await verifier.verify({ credential: 'other' })
    state.answer = { ...REFUSED, ...more }
    await verifier.verify({ credential: 'c', cost: 1 })
    state.answer = 'away'
    if (isEnded) await assert.rejects(verifier.verify(here), VerifierUnavailable, more.reason)
    else assert.equal((await verifier.verify(here)).active, true, more.reason)
    assert.equal((await verifier.verify({ credential: 'other' })).active, true)
  }
})

test('neither refusals nor one credential empty the cache of others', () => {
  const cache = createVerifierCache(() => 0)
  const add = (answer: object, credential: string, inputs = credential) =>
    cache.add({ credential, inputs }, answer as Verification, true)
  const isKnown = (credential: string, inputs = credential) =>
    cache.recall({ credential, inputs }, 1, 1) !== undefined
  add(ACTIVE, 'c')
  for (let n = 0; n < 10_500; n++) add(ACTIVE, 'flood', `address ${n}`)
  for (let n = 0; n < 10_500; n++) add({ ...REFUSED, reason: 'unknown' }, `stranger ${n}`)
  assert.ok(isKnown('c'))
  assert.deepEqual([isKnown('stranger 499'), isKnown('stranger 500')], [false, true])
  const floods = Array.from({ length: 10_500 }, (_, n) => isKnown('flood', `address ${n}`))
  assert.equal(floods.filter(Boolean).length, 1000)
  for (let n = 0; n < 9000; n++) add(ACTIVE, `other ${n}`)
  assert.ok(!isKnown('c') && isKnown('flood', 'address 10499'), 'the oldest is the first to go')
  cache.end('flood')
  for (let n = 0; n < 1000; n++) add(ACTIVE, `more ${n}`)
  assert.ok(isKnown('other 0') && isKnown('more 999'))
  add(ACTIVE, 'last')
  assert.ok(!isKnown('other 0') && isKnown('last'))
})

test('the middleware sends plausible credentials and addresses only', async () => {
  const { state, verifier } = openVerifier()
  const ask = async (credential: string, ip?: string) => {
    const sent: unknown[] = []
    const res = {
      status: (code: number) => (sent.push(code), res),
      set: () => res,
      json: (body: unknown) => sent.push(body),
    }
    const req = { headers: { 'x-api-key': credential }, ip }
    await verifier.express()(req, res, (error) => sent.push(error ?? 'next'))
    return sent
  }
  for (const malformed of ['x'.repeat(8193), 'a\tb', 'a\0', '\ud800']) {
    assert.deepEqual(await ask(malformed), [401, { error: 'unauthorized' }])
  }
  assert.equal(state.questions.length, 0)
  const addressOf = async (ip: string) => {
    await ask(`key ${ip}`, ip)
    return (state.questions.at(-1) as { address?: string }).address
  }
  const short = ['unknown', '', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '1.2.3.4/8', ':']
  const colons = ['::g', '1::2::3', '12345::', '1:2:3:4:5:6:7', '::1.2.3', '::1.2.3.04']
  for (const text of [...short, ...colons]) {
    assert.equal(isIP(text), 0, text)
    assert.equal(await addressOf(text), undefined, text)
  }
  for (const text of ['192.0.2.1', '0.0.0.0', '::', '::1', '2001:DB8::1', '::ffff:192.0.2.1']) {
    assert.ok(isIP(text), text)
    assert.equal(await addressOf(text), text)
  }
  assert.equal(await addressOf('fe80::1%eth0'), 'fe80::1')
  for (const status of [401, 403, 422]) {
    state.answer = status
    const [error] = (await ask('c')) as [Error]
    assert.deepEqual(Object.keys(error), [], 'no status, code or body for the client')
    assert.ok(error.cause instanceof GatehookError && !error.message.includes(String(status)))
  }
})

test('the middleware of each framework serves, refuses, or is unavailable', async () => {
  const { state, verifier } = openVerifier()
  const options = { scopes: ['reports:read'] }
  const express = async (headers: Record<string, string>) => {
    const sent: unknown[] = []
    const res = {
      status: (code: number) => (sent.push(code), res),
      set: (more: Record<string, string>) => (sent.push(more), res),
      json: (body: unknown) => sent.push(body),
    }
    const req = { headers, ip: '192.0.2.1' }
    await verifier.express(options)(req, res, (error) => sent.push(error ?? 'next'))
    return sent
  }
  const fastify = async (headers: Record<string, string>) => {
    const sent: unknown[] = []
    const reply = {
      code: (code: number) => (sent.push(code), reply),
      headers: (more: Record<string, string>) => (sent.push(more), reply),
      send: (body: unknown) => sent.push(body),
    }
    await verifier.fastify(options)({ headers, ip: '192.0.2.1' }, reply)
    return sent.length === 0 ? ['next'] : sent
  }
  const hono = async (headers: Record<string, string>) => {
    const sent: unknown[] = []
    const context = {
      req: { header: (name: string) => headers[name] },
      set: () => {},
      json: (body: unknown, status: number, more: Record<string, string>) => {
        sent.push(status, more, body)
        return new Response()
      },
    }
    const protect = { ...options, address: () => '192.0.2.1' }
    await verifier.hono(protect)(context, async () => void sent.push('next'))
    return sent
  }
  for (const call of [express, fastify, hono]) {
    state.now += 10_000
    state.answer = ACTIVE
    for (const headers of [{ 'x-api-key': 'c' }, { authorization: 'Bearer c' }]) {
      assert.deepEqual(await call(headers as never), ['next'])
    }
    assert.deepEqual(state.questions.at(-1), { credential: 'c', ...options, address: '192.0.2.1' })
    state.now += 10_000
    state.answer = REFUSED
    const refused = await call({ 'x-api-key': 'c' })
    assert.deepEqual(refused.slice(0, 2), [403, { 'x-a': 'b' }])
    assert.equal((await call({}))[0], 401)
    assert.equal((await call({ 'x-api-key': 'c', authorization: 'Bearer c' }))[0], 400)
    state.now += 10_000
    state.answer = 'away'
    assert.deepEqual((await call({ 'x-api-key': 'c' })).slice(0, 2), [503, { 'retry-after': '1' }])
  }
})

test('a route of one mode refuses active credentials of the other', async () => {
  const verifier = fakeVerifier({ live: {}, test: { mode: 'test' } })
  const statusOf = async (key: string, mode?: 'live' | 'test') => {
    const sent: unknown[] = []
    const reply = {
      code: (code: number) => (sent.push(code), reply),
      headers: () => reply,
      send: (body: unknown) => sent.push(body),
    }
    await verifier.fastify({ mode })({ headers: { 'x-api-key': key } }, reply)
    return sent
  }
  assert.deepEqual(await statusOf('live', 'live'), [])
  assert.deepEqual(await statusOf('test', 'live'), [403, { error: 'mode' }])
  assert.deepEqual(await statusOf('live', 'test'), [403, { error: 'mode' }])
  assert.deepEqual([await statusOf('live'), await statusOf('test')], [[], []])
})

test('a fake verifier knows its credentials and their scopes', async () => {
  const { verify } = fakeVerifier({
    'key-of-42': { external_id: 'org_42', scopes: ['reports:read'] },
  })
  const answer = await verify({ credential: 'key-of-42', scopes: ['reports:read'] })
  assert.ok(answer.active && answer.external_id === 'org_42' && answer.mode === 'live')
  const missing = await verify({ credential: 'key-of-42', scopes: ['reports:write'] })
  assert.ok(!missing.active && missing.reason === 'scope')
  const unknown = await verify({ credential: 'constructor' })
  assert.ok(!unknown.active && unknown.reason === 'unknown')
})

test('a verifier without a key says which key it needs', () => {
  assert.throws(() => createVerifier({ url: 'http://127.0.0.1:1', key: '' }), /keys:verify/)
})
