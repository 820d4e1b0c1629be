/** §11.5: the snapshots of a customer do not delay those of others, nor other requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backendGroup, personGroup } from '../../kernel/caller-group.ts'
import { scopeOf } from '../../kernel/principal.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { Reader } from './database.ts'
import { createSnapshots } from './sqlite-snapshots.ts'
import { createTransactionGuard } from './transaction.ts'

const [first, second] = [backendGroup(scopeOf(1, 'live')), backendGroup(scopeOf(2, 'live'))]

function stage(workMs = 0) {
  const time = { ms: 0 }
  const steps: string[] = []
  const connection = { exec: () => steps.push('begin'), endRead: () => steps.push('end') }
  const snapshots = createSnapshots(connection as never, {
    clock: { now: () => 0, elapsedMs: () => time.ms },
    guard: createTransactionGuard(),
    createReader: () => ({}) as Reader,
  })
  const take = (customer: TurnKey | undefined, name: string) =>
    snapshots.take(customer, async () => {
      steps.push(name)
      time.ms += workMs
    })
  const names = () => steps.filter((step) => step !== 'begin' && step !== 'end')
  return { steps, names, take, snapshots }
}

test('customers and the engine take turns for snapshots, of which one is open', async () => {
  const { steps, names, take, snapshots } = stage()
  const all = ['a1', 'a2', 'a3'].map((name) => take(first, name))
  all.push(take(personGroup(scopeOf(1, 'live')), 'p1'), take(second, 'b1'), take(undefined, 'e1'))
  await snapshots.finished()
  await Promise.all(all)
  assert.deepEqual(names(), ['a1', 'b1', 'e1', 'p1', 'a2', 'a3'])
  assert.deepEqual(
    steps,
    names().flatMap((name) => ['begin', name, 'end']),
  )
})

test('other requests run after 10 ms of snapshots', async () => {
  const { names, take } = stage(6)
  const all = Array.from({ length: 6 }, (_, n) => take(first, `a${n}`))
  const turns: number[] = []
  while (names().length < 6) {
    turns.push(names().length)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(all)
  assert.ok(turns.includes(2) && turns.includes(4), turns.join())
})

test('a snapshot that fails frees its place', async () => {
  const { names, take, snapshots } = stage()
  const broken = snapshots.take(first, () => Promise.reject(new Error('broken')))
  const next = take(first, 'next')
  await assert.rejects(broken, /broken/)
  await next
  assert.deepEqual(names(), ['next'])
})
