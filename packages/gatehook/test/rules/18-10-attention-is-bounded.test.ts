/** §18.10: attention answers while the database does not, and names the kinds that it lacks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAttentionReader } from '../../src/operate/monitoring/attention.ts'
import type { AttentionSources } from '../../src/operate/monitoring/attention-kind.ts'
import type { NodeState } from '../../src/operate/monitoring/nodes.ts'
import type { Reader } from '../../src/platform/storage/database.ts'
import { storageUnavailable } from '../../src/platform/storage/transaction.ts'

const LOCK = {
  ...{ pid: 7, application: 'psql', user: 'ada', state: 'idle in transaction', statement: 'BEGIN' },
  ...{ tables: ['orders'], waiting: 3, awaitsStandby: false, ageS: 1, sinceMs: 0 },
  queued: null,
  holdsStreams: false,
}
const OLDEST = { ...LOCK, pid: 8, waiting: 0, holdsStreams: true }

/** Reads whose database hangs, or rejects, until `state.answer` is set. */
function openSources() {
  const state = { now: 0, answer: undefined as (() => Promise<unknown>) | undefined, lists: 0 }
  const read = () => state.answer?.() ?? new Promise<never>(() => undefined)
  const db = { all: read, arrays: read, get: async () => read().then(() => undefined) }
  const reasons = [{ check: 'primary', message: 'The pooler does not run.' }]
  const own = {
    ...{ id: '1', name: 'api-1', role: 'all', state: 'not_ready', since: 0, seenAt: 0, reasons },
    warnings: [],
    ...{ options: {}, declaration: {}, secrets: { keyId: 'k', digests: {} }, columns: {} },
  }
  const list = (): Promise<never[]> => {
    state.lists++
    return read() as Promise<never[]>
  }
  const none = () => undefined
  const sources: AttentionSources = {
    ...{ db: db as unknown as Reader, monitoring: db as unknown as Reader },
    clock: { now: () => state.now, elapsedMs: () => state.now },
    ...{ versions: () => [], lockHolders: () => [LOCK], isAway: () => state.answer !== answers },
    ...{ fullServer: none, lastCause: none, jobTimeoutMs: none },
    nodes: { own: async () => own as unknown as NodeState, listOthers: list, listEnded: list },
  }
  return { state, sources }
}

const answers = async () => []
const hangs = undefined
const rejects = async () => {
  throw storageUnavailable('the pooler is away')
}

test('kinds that the database does not answer are named, and the rest is listed', async () => {
  const { state, sources } = openSources()
  const read = createAttentionReader(sources)
  for (const answer of [hangs, rejects]) {
    Object.assign(state, { now: state.now + 10_000, answer })
    const items = await read()
    const kinds = items.map(({ kind }) => kind)
    assert.deepEqual(kinds, ['node_not_ready', 'lock_held', 'attention_unknown'])
    const { unknown } = items.at(-1)!.facts as { readonly unknown: readonly string[] }
    for (const name of ['other nodes', 'server errors', 'missing nodes', 'restore']) {
      assert.ok(unknown.includes(name), name)
    }
    assert.ok(!unknown.includes('held locks'))
    assert.equal(items.at(-1)!.since, new Date(10_000).toISOString(), 'since the first time')
  }
})

test('a list reads the nodes once, and lacks nothing while the database answers', async () => {
  const { state, sources } = openSources()
  state.answer = answers
  const read = createAttentionReader({ ...sources, lockHolders: () => [LOCK, OLDEST] })
  const items = await read()
  assert.deepEqual(
    items.map(({ kind, severity }) => [kind, severity]),
    [
      ...[
        ['node_not_ready', 'bad'],
        ['lock_held', 'bad'],
      ],
      ['streams_held', 'warn'],
    ],
  )
  assert.equal(state.lists, 2, 'those that run, and those that ended')
})
