import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Principal, scopeOf } from '../../kernel/principal.ts'
import type { Call } from './call.ts'
import { createStreamAuthority, type IdentifyAgain } from './stream-authority.ts'

const principal: Principal = {
  customer: 'cus_1',
  mode: 'live',
  scope: scopeOf(1, 'live'),
  kind: 'operator',
  subject: 'op_1',
  scopes: new Set(['a', 'b']),
  role: 'support',
}

function openAuthority(identifyAgain: IdentifyAgain) {
  const time = { ms: 0 }
  const lines: object[] = []
  const log = { info: (line: object) => void lines.push(line), warn: () => {} } as never
  const clock = { elapsedMs: () => time.ms }
  return { time, lines, authority: createStreamAuthority({ identifyAgain, clock, log }) }
}

const callOf = (caller: Principal | undefined) => ({ id: 'req_1', principal: caller }) as Call

const REASONS: readonly [string, Principal | undefined, RegExp | undefined][] = [
  ['nothing', principal, undefined],
  ['more scopes', { ...principal, scopes: new Set(['a', 'b', 'c']) }, undefined],
  ['a greater role', { ...principal, role: 'administrator' }, undefined],
  ['no credential', undefined, /no longer valid/],
  ['a scope less', { ...principal, scopes: new Set(['a', 'c']) }, /may do less/],
  ['a lesser role', { ...principal, role: 'viewer' }, /may do less/],
  ['another mode', { ...principal, scope: scopeOf(1, 'test') }, /may do less/],
  ['another caller', { ...principal, subject: 'op_2' }, /may do less/],
  ['the rows of a person', { ...principal, inPortal: 'own' }, /may do less/],
  ['an application', { ...principal, thirdParty: true }, /may do less/],
]

for (const [change, current, reason] of REASONS) {
  test(`a request that lasts is verified again each second: ${change}`, async () => {
    const { time, authority } = openAuthority(() => current)
    const call = callOf(principal)
    const acting = callOf({ ...principal, customer: 'cus_2', caller: principal })
    time.ms = 999
    assert.equal(authority.isOld(call, 0), false)
    time.ms = 1000
    assert.equal(authority.isOld(call, 0), true)
    assert.equal(authority.isOld(callOf(undefined), 0), false)
    for (const request of [call, acting]) {
      const loss = await authority.findLoss(request)
      if (reason) assert.match(loss!, reason)
      else assert.equal(loss, undefined)
    }
    assert.equal(call.principal, reason ? principal : current, 'rights that it gained apply')
    assert.equal(acting.principal!.customer, 'cus_2')
    assert.equal(await authority.findLoss(callOf(undefined)), undefined)
  })
}

test('a stream ends once: by its caller, its longest time, or an error', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let identify = (): Principal | undefined => principal
  const { time, lines, authority } = openAuthority(() => identify())
  const ends: string[] = []
  const open = (name: string, caller: Principal | undefined, longestMs?: number) =>
    authority.watch(callOf(caller), { longestMs, end: () => void ends.push(name) })
  const pass = async (ms: number) => {
    time.ms += ms
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 20; turns++) await null
  }
  open('hour', principal, 3_600_000)
  open('public', undefined, 3_600_000)
  open('lost', principal)
  const close = open('closed', principal)
  open('open', undefined)
  await pass(1000)
  assert.deepEqual(ends, [])
  close()
  time.ms = 3_600_000 - 1000
  await pass(1000)
  assert.deepEqual(ends, ['hour', 'public'])
  identify = () => {
    throw new Error('the database is unavailable')
  }
  await pass(1000)
  await pass(1000)
  assert.deepEqual(ends, ['hour', 'public', 'lost'])
  assert.equal(lines.length, 3)
})
