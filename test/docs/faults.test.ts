/** `docs/reference/faults.md` has a run of each fault that an operator meets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsPage } from '../../docs/generate/faults.ts'
import { type FaultRecord, readRecords, wordsOf } from '../chaos/record.ts'
import { SCENARIOS } from '../chaos/scenarios.ts'

const scenarios = SCENARIOS.filter(({ groups }) => groups.includes('operate'))

test('each fault of an operator is on record, with the words that it requires', () => {
  const records = new Map(readRecords().map((record) => [record.scenario, record]))
  for (const { name, words = [] } of scenarios) {
    const record = records.get(name)
    assert.ok(record, `npm run chaos -- operate --only ${name} --record`)
    for (const pattern of words) {
      assert.equal(wordsOf([pattern], record.words).length, 1, `${name}: ${pattern}`)
    }
    records.delete(name)
  }
  assert.deepEqual([...records.keys()], [], 'records without a scenario')
})

test('a row has the figures and words of its run', () => {
  const record: FaultRecord = {
    scenario: 'kill',
    title: 'kill | -9',
    at: '2026-11-29T16:00:00.000Z',
    nodes: 2,
    seconds: 40,
    acknowledged: 1_234,
    lost: 0,
    doubled: 0,
    phantom: 0,
    failedReads: 3,
    failedWrites: 5,
    longestWaitMs: 2_345,
    words: [{ source: '/readyz 503', text: 'primary: <away>', afterMs: 10 }],
  }
  const row =
    '| kill \\| -9 | `kill` | 2026-11-29 16:00 | 1,234 | 0 | 0 | 0 | 3 / 5 | 2.3 s | ' +
    '**/readyz 503** primary: &lt;away> |'
  assert.ok(faultsPage([record]).includes(row), faultsPage([record]))
})
