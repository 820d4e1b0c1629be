/**
 * §3.8: failures of other clients never lock an account for a client that has signed in to it
 * before, from the same address or with the same browser.
 */
import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { type TestContext, test } from 'node:test'
import type { TimerOptions } from 'node:timers'
import timers from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { createOperator } from '../../src/identity/people/operators.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const env = { GATEHOOK_TRUST_PROXY: '127.0.0.1', GATEHOOK_BASIC_ALLOWED_CIDRS: '0.0.0.0/0,::/0' }
const HOME = '203.0.113.1'

/** Returns the headers of a proxy that forwards a request of this address. */
const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })

/** The time between two attempts of a recognized client that guesses. */
const TURN_MS = 1_500

/** Holds the waits of this length until `release`; `begun` resolves when the first one begins. */
function holdWaits(t: TestContext) {
  const waitsMs: number[] = []
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const wait = timers.setTimeout
  const hold = async (ms?: number, ...rest: [value?: unknown, options?: TimerOptions]) => {
    if (ms !== TURN_MS) return wait(ms, ...rest)
    waitsMs.push(ms)
    begun.resolve()
    await released.promise
  }
  const mocked = t.mock.method(timers, 'setTimeout', hold as typeof wait)
  syncBuiltinESMExports()
  onEnd(t, () => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  return { waitsMs, begun: begun.promise, release: released.resolve }
}

async function openClients(service: TestApp) {
  const { createPerson, anonymous } = await openPeople(service)
  const login = (address: string, password = PASSWORD, headers = {}, name = 'ada') =>
    anonymous.post(
      '/auth/login',
      { username: emailOf(name), password },
      { ...from(address), ...headers },
    )
  const fail = async (count: number, password = 'wrong') => {
    for (let n = 0; n < count; n++) {
      assert.equal((await login(`198.51.100.${n}`, `${password} ${n}`)).status, 401)
    }
  }
  return { createPerson, anonymous, login, fail }
}

eachService(
  'an address that signed in before is not locked out by others',
  async (service) => {
    const { createPerson, login, fail, anonymous } = await openClients(service)
    await createPerson('ada')
    assert.equal((await login(HOME)).status, 200)
    await fail(10)
    assert.equal((await login('198.51.100.99')).status, 429, 'a new address is locked out')
    assert.equal((await login(HOME)).status, 200)
    await fail(10)
    const basic = await anonymous.get('/api/v2/protected', {
      ...basicOf(emailOf('ada')),
      ...from(HOME),
    })
    assert.equal(basic.status, 200)
    const rows = await service.app.db.all({
      sql: 'SELECT * FROM gh_recognized_clients',
      text: 'SELECT * FROM gh_recognized_clients',
      values: [],
    })
    assert.ok(!JSON.stringify(rows).includes(HOME), 'the address is stored as a keyed hash')
  },
  { env },
)

eachService(
  'a recognized client that guesses is slowed down, and still signs in',
  async (service, t) => {
    const { createPerson, login } = await openClients(service)
    await createPerson('ada')
    assert.equal((await login(HOME)).status, 200)
    for (let n = 0; n < 10; n++) assert.equal((await login(HOME, `wrong ${n}`)).status, 401)
    const wrong = await login(HOME, 'wrong 10')
    assert.deepEqual([wrong.status, wrong.headers['retry-after']], [429, '2'])
    const { waitsMs, begun, release } = holdWaits(t)
    const correct = login(HOME)
    await begun
    const wrongs = await Promise.all([login(HOME, 'a'), login(HOME, 'b')])
    assert.ok(wrongs.every(({ status }) => status === 429))
    release()
    assert.equal((await correct).status, 200)
    assert.deepEqual(waitsMs, [TURN_MS], 'the login is slowed down')
  },
  // However slow the machine is, the correct password waits for its whole turn.
  { env, clock: { now: () => Date.now(), elapsedMs: () => 0 } },
)

eachService(
  'a new password makes every client unrecognized',
  async (service) => {
    const { createPerson, login, fail } = await openClients(service)
    const { operator } = await openPeople(service)
    const ada = await createPerson('ada')
    assert.equal((await login(HOME)).status, 200)
    const password = 'another horse'
    const path = `/admin/users/${ada.id}/password`
    assert.equal((await operator.put(path, { password }, from(HOME))).status, 204)
    await fail(10)
    assert.equal((await login(HOME, password)).status, 429)
  },
  { env },
)

eachService(
  'an account recognizes the twenty latest clients',
  async (service) => {
    const { createPerson, login, fail } = await openClients(service)
    await createPerson('ada')
    for (let n = 0; n < 22; n++) assert.equal((await login(`203.0.113.${n}`)).status, 200)
    const count = 'SELECT COUNT(*) AS count FROM gh_recognized_clients'
    const [row] = await service.app.db.all({ sql: count, text: count, values: [] })
    assert.equal(Number(row!.count), 20)
    await fail(10)
    assert.equal((await login('203.0.113.21')).status, 200)
  },
  { env },
)

test('a browser that signed in at a page is recognized at any address', async (t) => {
  const service = await openService(t, 'sqlite', { env })
  const { anonymous } = await openPeople(service)
  const email = 'op@example.com'
  const actor = { kind: 'system', id: 'test' } as const
  const { administration, hasher } = service.app
  await createOperator(administration, hasher, { email, password: PASSWORD }, actor)
  const signIn = (address: string, password: string, cookie?: string) =>
    anonymous.post(
      '/console/session',
      { email, password },
      { ...from(address), ...(cookie !== undefined && { cookie }) },
    )
  const first = await signIn(HOME, PASSWORD)
  assert.equal(first.status, 201, first.text)
  const lines = [first.headers['set-cookie']].flat().map(String)
  const line = lines.find((text) => text.startsWith('__Host-gatehook_device='))!
  assert.match(line, /; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const cookie = line.split(';')[0]!
  for (let n = 0; n < 10; n++) {
    assert.equal((await signIn(`198.51.100.${n}`, 'wrong')).status, 401)
  }
  const away = '192.0.2.77'
  assert.equal((await signIn(away, PASSWORD)).status, 429)
  const forged = cookie.slice(0, -1) + (cookie.endsWith('A') ? 'Q' : 'A')
  assert.equal((await signIn(away, PASSWORD, forged)).status, 429, 'forged')
  assert.equal((await signIn(away, PASSWORD, cookie)).status, 201)
})
