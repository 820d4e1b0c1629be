/** §11.5: the report of a dry run is work of its caller, beside which other requests run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectorOf } from '../../history/events/collector.ts'
import type { StoredEvent } from '../../history/events/event.ts'
import { scopeOf } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { performDryRuns } from './dry-run.ts'

test('each rendered event of a dry run is counted, and a turn of others is awaited', async () => {
  const bytes: number[] = []
  let turns = 0
  let measures = 0
  const call = {
    ...{ headers: { prefer: 'dry-run' }, out: {}, version: 'v1' },
    principal: { kind: 'key', scope: scopeOf(1, 'test'), scopes: new Set() },
    startWork: () => ({
      measure:
        (encode: (event: unknown) => string) =>
        (event: unknown): string => {
          measures += 1
          return encode(event)
        },
      async count(more: number) {
        bytes.push(more)
        await new Promise((resolve) => setImmediate(resolve))
        turns += 1
      },
    }),
  } as unknown as Call
  const turnsAt: number[] = []
  const render = () => {
    turnsAt.push(turns)
    return '"object"'
  }
  const types = { readableTypes: () => undefined, readScopesOf: () => new Set() }
  const perform = performDryRuns(
    {
      catalog: { render },
      types: types as never,
      perform: async (_call, change) => change({ attempt: async () => {} } as unknown as Tx),
    },
    { hasParameter: false },
  )
  const answer = await perform(call, async (tx) => {
    const event = { type: 'note.created', id: 'evt_1' } as StoredEvent
    collectorOf(tx)!.push(event, event, event)
    return { status: 201, json: '{}' }
  })
  assert.equal(JSON.parse(answer.json!)._dry_run.events.length, 3)
  assert.deepEqual([bytes, measures, turnsAt], [[8, 8, 8], 3, [0, 1, 2]])
})
