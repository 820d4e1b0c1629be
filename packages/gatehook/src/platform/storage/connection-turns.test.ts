/** §18.1: locks of others delay the transactions of a customer for a bounded time (PostgreSQL). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendGroup, personGroup } from '../../kernel/caller-group.ts'
import { Failure } from '../../kernel/failure.ts'
import { scopeOf } from '../../kernel/principal.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import { connectionShares, createConnectionTurns } from './connection-turns.ts'
import { LEAST_LOCK_MS, LOCK_MS, LockWait } from './lock-wait.ts'

const SIZE = 10
const CUSTOMER = 1
const lockTimeout = () => Object.assign(new Error('canceling statement'), { code: '55P03' })

function openTurns() {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const take = createConnectionTurns(SIZE, clock)
  const ends: ((error?: Error) => void)[] = []
  const begin = (customer: TurnKey = CUSTOMER) => {
    const wait = new LockWait()
    const body = () =>
      new Promise<void>((resolve, reject) => {
        ends.push((error) => (error ? reject(error) : resolve()))
      })
    const result = take(customer, wait, body).then(
      () => 'done',
      (error: Error) => (error instanceof Failure ? error.code : 'locked'),
    )
    return { wait, result }
  }
  return { clock, take, ends, begin }
}
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('after a lock timed out, transactions that waited behind it do not begin', async () => {
  const { clock, ends, begin } = openTurns()
  const { customer: share } = connectionShares(SIZE)
  const running = Array.from({ length: share }, () => begin())
  const early = Array.from({ length: 100 }, () => begin())
  await settle()
  clock.ms = LOCK_MS - LEAST_LOCK_MS
  const late = begin()
  clock.ms = LOCK_MS
  for (const end of ends.splice(0)) end(lockTimeout())
  const locked = await Promise.all(running.map(({ result }) => result))
  assert.deepEqual(new Set(locked), new Set(['locked']))
  const codes = await Promise.all(early.map(({ result }) => result))
  assert.deepEqual(new Set(codes), new Set(['storage_unavailable']))
  await settle()
  assert.equal(ends.length, 1, 'the late one begins')
  assert.equal(late.wait.limitMs, LOCK_MS - LEAST_LOCK_MS)
  ends[0]!()
  assert.equal(await late.result, 'done')
})

test('transactions that wait for long without a lock begin', async () => {
  const { clock, ends, begin } = openTurns()
  const all = Array.from({ length: 20 }, () => begin())
  await settle()
  clock.ms = 10 * LOCK_MS
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
  }
  assert.deepEqual(new Set(await Promise.all(all.map(({ result }) => result))), new Set(['done']))
})

test('customers that wait for the connections of others are counted', async () => {
  const { take, ends, begin } = openTurns()
  for (let n = 0; n < 20; n++) begin(1)
  await settle()
  assert.equal(take.waitingCount(), 0, 'a customer that uses its own share')
  for (let n = 0; n < 20; n++) begin(2)
  await settle()
  assert.equal(take.waitingCount(), 1)
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
  }
  assert.equal(take.waitingCount(), 0)
})

test('the groups of callers of a customer share its connections, and take turns', async () => {
  const { take, ends, begin } = openTurns()
  const { customer: share, customers } = connectionShares(SIZE)
  const [live, testMode] = [scopeOf(1, 'live'), scopeOf(1, 'test')]
  for (let n = 0; n < 20; n++) begin(personGroup(live))
  const keys = [backendGroup(live), backendGroup(testMode)].map((group) => begin(group))
  await settle()
  assert.equal(ends.length, share)
  for (let n = 0; n < 20; n++) begin(backendGroup(scopeOf(2, 'live')))
  await settle()
  assert.equal(ends.length, customers, 'another customer has the rest at once')
  for (const end of ends.splice(0, share)) end()
  await settle()
  // The persons arrived first, and have at most their share in the queue of the customer.
  for (const end of ends.splice(0)) end()
  assert.deepEqual(await Promise.all(keys.map(({ result }) => result)), ['done', 'done'])
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
  }
  assert.equal(take.waitingCount(), 0)
})

test('the limit of a lock decreases by the time that a transaction has waited', () => {
  const wait = new LockWait()
  assert.equal(wait.limitMs, undefined)
  wait.add(LEAST_LOCK_MS)
  assert.equal(wait.limitMs, LOCK_MS - LEAST_LOCK_MS)
  wait.add(10 * LOCK_MS)
  assert.equal(wait.limitMs, LEAST_LOCK_MS)
})

test('a transaction that waited for its connection is refused if locks are why', async () => {
  const { clock, take, ends, begin } = openTurns()
  const { result } = begin()
  const wait = new LockWait(LEAST_LOCK_MS)
  clock.ms = LEAST_LOCK_MS
  await take(CUSTOMER, wait, async () => {
    wait.refuseIfOver()
    wait.add(LOCK_MS)
    wait.refuseIfOver()
    ends[0]!(lockTimeout())
    await result
    assert.throws(() => wait.refuseIfOver(), { code: 'storage_unavailable' })
  })
})
