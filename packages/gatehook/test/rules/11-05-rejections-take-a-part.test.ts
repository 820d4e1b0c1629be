/**
 * §11.5: rejections of requests without a valid credential, and of those beyond a limit, take a
 * part of the time while callers with credentials send requests; the rest of them wait.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { type Principal, scopeOf } from '../../src/kernel/principal.ts'
import type { Call } from '../../src/protocol/http/call.ts'
import { createRefusals } from '../../src/protocol/http/refusals.ts'
import { request, start } from '../http/rig.ts'

const principal = (kind: Principal['kind'], no: number): Principal => ({
  ...{ kind, customer: `cus_${no}`, mode: 'live', scope: scopeOf(no, 'live'), subject: 'a' },
  scopes: new Set<string>(),
})
const addressOf = (n: number) => `203.${n >> 16}.${(n >> 8) & 255}.${n & 255}`

/** Refusals at a manual clock; a key of another customer sent a request just now. */
function open() {
  const time = { ms: 100_000 }
  const refusals = createRefusals({ elapsedMs: () => time.ms })
  const delayMs = (address: string, status = 401, sender?: Principal) => {
    refusals.note('another customer')
    return refusals.delayMs({ address, principal: sender }, status)
  }
  return { time, refusals, delayMs }
}

test('connections that send the next request after each rejection get 125 per second', () => {
  for (const addresses of [1, 7, 100_000]) {
    const { time, delayMs } = open()
    const [from, until] = [time.ms, time.ms + 10_000]
    const dueMs = Array.from({ length: 20 }, () => from)
    let count = 0
    for (; ; count++) {
      time.ms = Math.min(...dueMs)
      if (time.ms >= until) break
      const delay = delayMs(addressOf(count % addresses))
      assert.ok(delay <= 1_000, String(delay))
      dueMs[dueMs.indexOf(time.ms)]! += 0.4 + delay
    }
    // Those of 10 s and of the 2 s before.
    const most = (addresses === 1 ? 31.25 : 125) * 12
    assert.ok(count > most / 2 && count < 1.3 * most, `${addresses}: ${count}`)
  }
})

test('one address leaves the rejections of others without a delay', () => {
  const { time, delayMs } = open()
  for (let n = 0; n < 5_000; n++) {
    const own = delayMs('203.0.113.9')
    if (n > 300) assert.ok(own > 0)
    assert.equal(delayMs(addressOf(n)), 0)
    time.ms += 10
  }
})

test('alone, and for any other response, nothing waits', () => {
  const { time, refusals, delayMs } = open()
  for (let n = 0; n < 1_000; n++) delayMs('203.0.113.9')
  for (const status of [200, 204, 304, 500, 503]) assert.equal(delayMs('203.0.113.9', status), 0)
  const key = principal('key', 1)
  for (const status of [403, 404, 409, 422]) {
    for (let n = 0; n < 1_000; n++) assert.equal(delayMs('203.0.113.9', status, key), 0)
  }
  // Beyond its request limit a customer waits, and takes nothing of those without a credential.
  for (let n = 0; n < 100; n++) delayMs('203.0.113.9', 429, key)
  assert.ok(delayMs('203.0.113.9', 429, key) > 0)
  assert.equal(delayMs('203.0.113.8', 429, principal('key', 2)), 0)
  assert.equal(delayMs('203.0.113.8'), 0)
  time.ms += 5_000
  for (let n = 0; n < 1_000; n++) {
    assert.equal(refusals.delayMs({ address: '203.0.113.9', principal: undefined }, 401), 0)
  }
})

test('a caller with a credential gets its response before a rejection that waits', async (t) => {
  const identify = (call: Call) => {
    if (call.headers['x-caller']) call.principal = principal('key', 1)
  }
  // The clock is stopped: after its burst, an address waits until the timer of each rejection.
  const rig = await start(t, { head: [identify], clock: { now: () => 0, elapsedMs: () => 1 } })
  const ask = async (line: string, ...headers: string[]) => {
    const socket = net.connect(rig.port, '127.0.0.1')
    onEnd(t, () => socket.destroy())
    await once(socket, 'connect')
    const state = { answer: '' }
    socket.on('data', (chunk) => void (state.answer += chunk))
    socket.write(request(line, ...headers))
    return state
  }
  const settle = async (state: { answer: string }) => {
    while (state.answer === '') await nextTick()
    return state.answer.slice(9, 12)
  }
  const own = () => ask('GET /api/orders', 'X-Caller: a')
  assert.equal(await settle(await own()), '200')
  for (const [line, status] of [
    ['GET /api/users', '401'],
    ['GET /nowhere', '404'],
    ['GET bad', '400'],
  ] as const) {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const rejected = []
    for (let n = 0; n < 80; n++) rejected.push(await ask(line))
    assert.equal(await settle(await own()), '200')
    assert.ok(
      rejected.some(({ answer }) => answer === ''),
      line,
    )
    for (const state of rejected) {
      while (state.answer === '') {
        t.mock.timers.tick(1_000)
        await nextTick()
      }
      assert.equal(state.answer.slice(9, 12), status)
    }
    t.mock.timers.reset()
  }
  assert.equal(rig.lines.filter(({ status }) => status === 401).length, 80)
})
