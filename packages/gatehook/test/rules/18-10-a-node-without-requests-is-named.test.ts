/** §18.10: a node that is ready, and to which a balancer sends no request, is named. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { findLeftOut } from '../../src/operate/monitoring/left-out-nodes.ts'
import { RecentRequests } from '../../src/operate/monitoring/recent-requests.ts'
import { RequestRecorder } from '../../src/operate/monitoring/recorder.ts'
import type { MonitoringStore } from '../../src/operate/monitoring/store.ts'
import type { Exchange } from '../../src/protocol/http/exchange.ts'
import { openNodes } from '../monitoring/nodes.ts'

const MINUTE_MS = 60_000

test('attention names the node on each of them, with its last request', async (t) => {
  const { open, readAttention, state } = await openNodes(t)
  const startMs = state.now
  const lastMs = startMs + MINUTE_MS
  const nodes = [
    open('1', () => ({ recentRequests: { count: 7_120, lastMs: state.now } })),
    open('2', () => ({ recentRequests: { count: 0, lastMs } })),
    open('3', () => ({ role: 'deliver', recentRequests: { count: 0, lastMs: undefined } })),
    open('4'), // of an older release
  ]
  const beat = async () => {
    for (const node of nodes) await node.heartbeat()
  }
  await beat()
  assert.deepEqual(await readAttention(nodes[0]!), [], 'a node that has just started')
  state.now = startMs + 6 * MINUTE_MS
  await beat()
  for (const node of nodes) {
    const items = await readAttention(node)
    assert.deepEqual(
      items.map(({ kind, facts, since }) => [kind, facts.check, since]),
      [['node_warning', 'balancer', new Date(lastMs).toISOString()]],
    )
    const [{ message, nodes: named }] = items[0]!.facts.warnings
    assert.deepEqual(named, ['api-2'])
    assert.match(
      message,
      /^api-2 is ready and had no request of a caller .* another node had 7120\./,
    )
  }
})

test('nodes that share the requests, and those of an idle installation, are not named', () => {
  const of = (count: number, rest = {}) => ({
    ...({ name: `api-${count}`, role: 'all', state: 'ready', since: 0 } as const),
    ...{ recentRequests: { count, lastMs: undefined } },
    ...rest,
  })
  const find = (...nodes: ReturnType<typeof of>[]) =>
    findLeftOut(nodes, 10 * MINUTE_MS).map(({ node }) => node)
  assert.deepEqual(find(of(5_000), of(1)), [])
  assert.deepEqual(find(of(999), of(0)), [])
  assert.deepEqual(find(of(0)), [])
  assert.deepEqual(find(of(5_000), of(0, { state: 'not_ready' })), [], 'as it should be')
  assert.deepEqual(find(of(5_000), of(0, { since: 5 * MINUTE_MS })), [])
  assert.deepEqual(find(of(5_000), of(0)), ['api-0'])
})

test('requests of the last minutes are counted', () => {
  const requests = new RecentRequests()
  assert.deepEqual(requests.read(0), { count: 0, lastMs: undefined })
  for (let minute = 0; minute < 20; minute++) requests.note(minute * MINUTE_MS)
  assert.deepEqual(requests.read(19 * MINUTE_MS), { count: 6, lastMs: 19 * MINUTE_MS })
  assert.equal(requests.read(24 * MINUTE_MS).count, 1)
  assert.equal(requests.read(25 * MINUTE_MS).count, 0)
  requests.note(90 * MINUTE_MS)
  assert.equal(requests.read(26 * MINUTE_MS).count, 0, 'a clock that was ahead')
})

test('operators and their programs are no callers', () => {
  const clock = { now: () => MINUTE_MS, elapsedMs: () => 0 }
  const recorder = new RequestRecorder({
    ...{ mode: 'all', store: {} as MonitoringStore, clock, log: quietLog, node: 'n' },
    ...{ nextPosition: () => 1, recordsBodies: false, secretFields: new Set() },
    db: { fault: () => undefined },
    declaredKinds: new Map(),
  })
  const serve = (method: string, route: string) => {
    const head = { id: 'req_1', head: { url: route }, headers: {}, warnings: [], eventIds: [] }
    const exchange = { ...head, errors: [], method, route, path: route, kind: 'api', stage: 9 }
    recorder.observe(exchange as unknown as Exchange, { status: 200 }, 1)
  }
  for (const route of ['/metrics', '/admin/system', '/console']) serve('GET', route)
  assert.equal(recorder.recentRequests().count, 0)
  serve('GET', '/api/orders')
  serve('POST', '/oauth/token')
  assert.equal(recorder.recentRequests().count, 2)
})
