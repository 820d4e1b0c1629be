import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../kernel/principal.ts'
import { DueScan } from './due-scan.ts'
import type { DuePage, PendingEndpoint } from './ports.ts'

/** A scan of these endpoints by a clock that the test advances; `reads` names its reads. */
function createScan(endpoints: PendingEndpoint[], { idleMs = 1_000, page = {} } = {}) {
  const reads: string[] = []
  const time = { now: 10_000, elapsedMs: 0 }
  const leases = { generation: 0 }
  const scan = new DueScan({
    store: {
      async readDuePage(after, until): Promise<DuePage> {
        reads.push(`due ${after}–${until}`)
        const due = endpoints.filter(({ dueAt }) => dueAt > after && dueAt <= until)
        const later = endpoints.filter(({ dueAt }) => dueAt > until).map(({ dueAt }) => dueAt)
        const nextDueAt = later.length > 0 ? Math.min(...later) : undefined
        return { endpoints: due, readUntil: until, isComplete: true, nextDueAt, ...page }
      },
      async readEndpointSlice(after, limit) {
        reads.push(`slice ${after} ${limit}`)
        return { endpoints, next: undefined }
      },
      readAwaitedSlice: async () => ({ endpoints: [], next: undefined }),
    },
    leases,
    clock: { now: () => time.now, elapsedMs: () => time.elapsedMs },
    idleMs,
  })
  const pass = (ms: number) => {
    time.now += ms
    time.elapsedMs += ms
  }
  return { scan, reads, leases, time, pass }
}

test('after a walk at the start, each look reads what became due since the last one', async () => {
  const { scan, reads, pass } = createScan([{ no: 1, scope: scopeOf(1, 'live'), dueAt: 10_500 }])
  await scan.read()
  await scan.read()
  pass(999)
  assert.ok(!scan.isDue)
  pass(1)
  assert.ok(scan.isDue)
  assert.deepEqual((await scan.read())[0], { no: 1, scope: scopeOf(1, 'live'), dueAt: 10_500 })
  const [walk, first, , second] = reads
  assert.deepEqual([walk, first, second], ['slice 0 500', 'due 8000–10000', 'due 8000–11000'])
})

test('an idle engine looks rarely, and once the next delivery is due', async () => {
  const { scan, pass } = createScan([{ no: 1, scope: scopeOf(1, 'live'), dueAt: 12_500 }], {
    idleMs: 5_000,
  })
  await scan.read()
  await scan.read()
  pass(2_000)
  assert.ok(!scan.isDue)
  pass(500)
  assert.ok(scan.isDue)
  await scan.read()
  pass(4_999)
  assert.ok(!scan.isDue)
  pass(1)
  assert.ok(scan.isDue)
})

test('customers that another node leaves begin a walk', async () => {
  const { scan, reads, leases } = createScan([])
  await scan.read()
  await scan.read()
  assert.ok(!scan.isDue)
  leases.generation += 1
  assert.ok(scan.isDue)
  await scan.read()
  assert.equal(reads.at(-1), 'slice 0 500')
})

test('after the clock was set back, a look begins before the corrected time', async () => {
  const { scan, reads, time } = createScan([])
  await scan.read()
  await scan.read()
  time.now -= 5_000
  time.elapsedMs += 1_000
  await scan.read()
  assert.ok(reads.includes('due 3000–5000'))
})

test('an instant with more deliveries than one page begins a walk', async () => {
  const { scan, reads } = createScan([], { page: { isComplete: false, readUntil: 0 } })
  await scan.read()
  await scan.read()
  await scan.read()
  assert.deepEqual(reads, ['slice 0 500', 'due 8000–10000', 'slice 0 500'])
})
