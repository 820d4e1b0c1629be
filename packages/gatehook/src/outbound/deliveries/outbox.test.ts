import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../kernel/principal.ts'
import type { Statement, Tx, Value } from '../../platform/storage/database.ts'
import { createOutbox } from './outbox.ts'
import type { WakeDeliveries } from './wake-up.ts'

const START = {
  ...{ scope: scopeOf(1, 'live'), id: 'evt_1', type: 'note.created', collection: 'notes' },
  ...{ shape: 'v1', created: 0 },
}

/** Runs the outbox for an event of receivers; returns its statements, and which delivery waits. */
async function runOutbox(receivers: Value[][], { leadMs = 0, object = '{}' } = {}) {
  const statements: string[] = []
  let last: readonly unknown[] = []
  let passed: Parameters<WakeDeliveries> = [[]]
  const add = ({ sql, values }: Statement) => {
    statements.push(`${sql.split(' ', 1)[0]} ${values.length}`)
    last = values
  }
  const tx = {
    async arrays(statement: Statement) {
      add(statement)
      return receivers
    },
    runLater: add,
    afterCommit: (action: () => void) => action(),
  } as unknown as Tx
  const outbox = createOutbox({
    clock: { now: () => 0 } as never,
    leadMs: () => leadMs,
    coveredBy: () => undefined,
    wake: (...wakeUp) => void (passed = wakeUp),
    render: (_, version) => (version === 'v0' ? '{"old":1}' : object),
    effective: (version) => version,
  })
  const result = await outbox(tx, START)
  await result?.sink(tx, { ...START, objectId: 1, object }, '00-ab')
  const [nos, , committed = []] = passed
  return { statements, waiting: result?.waiting, times: last.slice(-2), nos, committed }
}

test('an event of a scope without registrations takes one statement', async () => {
  const { statements, waiting } = await runOutbox([])
  assert.deepEqual([statements, waiting], [['SELECT 4'], undefined])
})

test('the delivery of one registration with a backlog waits; others get rows', async () => {
  const { statements, waiting } = await runOutbox([
    [1, 'aaaaaaaa', 'v1', 0],
    [2, 'bbbbbbbb', 'v1', 1],
    [3, 'cccccccc', 'v1', 1],
  ])
  assert.deepEqual(statements, ['SELECT 4', 'INSERT 16'])
  assert.deepEqual(waiting, { waitsFor: 2, id: 'dlv_1bbbbbbbb', version: 'v1' })
})

test('a delivery is due at once on other nodes, if the clock of this one is ahead', async () => {
  const { times } = await runOutbox([[1, 'aaaaaaaa', 'v1', 0]], { leadMs: 30_000 })
  assert.deepEqual(times, [-30_000, 0])
})

test('the engine gets committed deliveries with their bodies, and reads large ones', async () => {
  const receivers = [
    [1, 'aaaaaaaa', 'v1', 0, 7],
    [2, 'bbbbbbbb', 'v0', 0, 8],
    [3, 'cccccccc', 'v1', 1, 9],
  ]
  const { nos, committed } = await runOutbox(receivers)
  assert.deepEqual(nos, [3])
  assert.deepEqual(
    committed.map(({ webhookNo, revision, due }) => [webhookNo, revision, due.id, due.trace]),
    [
      [1, 7, 'dlv_1aaaaaaaa', '00-ab'],
      [2, 8, 'dlv_1bbbbbbbb', '00-ab'],
    ],
  )
  const objects = committed.map(({ due }) => JSON.parse(due.body).data.object)
  assert.deepEqual(objects, [{}, { old: 1 }])
  const large = await runOutbox(receivers, { object: `{"text":"${'x'.repeat(4_096)}"}` })
  assert.deepEqual([large.nos, large.committed.length], [[1, 3], 1])
})
