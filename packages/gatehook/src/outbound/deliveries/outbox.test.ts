import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../kernel/principal.ts'
import type { Statement, Tx, Value } from '../../platform/storage/database.ts'
import { createOutbox } from './outbox.ts'

const START = {
  ...{ scope: scopeOf(1, 'live'), id: 'evt_1', type: 'note.created', collection: 'notes' },
  ...{ shape: 'v1', created: 0 },
}

/** Runs the outbox for an event, and returns the first words of its statements. */
async function statementsOf(topics: Value[][], hasRoundTrips: boolean): Promise<string[]> {
  const statements: string[] = []
  const tx = {
    hasRoundTrips,
    async arrays({ sql }: Statement) {
      statements.push(sql.split(' ', 1)[0]!)
      return sql.startsWith('SELECT') ? topics : []
    },
  } as unknown as Tx
  const outbox = createOutbox({
    clock: { now: () => 0 } as never,
    coveredBy: () => undefined,
    wake: () => assert.fail('no delivery'),
    render: () => assert.fail('no delivery'),
    effective: (version) => version,
  })
  const sink = await outbox(tx, START)
  await sink(tx, { ...START, objectId: 1, object: '{}' })
  return statements
}

test('on SQLite an event of a scope without registrations takes one look-up', async () => {
  assert.deepEqual(await statementsOf([], false), ['SELECT'])
  assert.deepEqual(await statementsOf([[1]], false), ['SELECT', 'INSERT'])
})

test('on PostgreSQL an event takes no look-up, which would be a round trip', async () => {
  assert.deepEqual(await statementsOf([], true), ['INSERT'])
})
