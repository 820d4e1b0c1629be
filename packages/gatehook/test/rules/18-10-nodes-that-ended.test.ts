/** §18.10: attention names nodes that ended and have no successor, and starts that failed. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { openApp } from '../../src/app.ts'
import type { NodeFacts } from '../../src/operate/monitoring/nodes.ts'
import { ConfigError, loadConfig } from '../../src/platform/config/config.ts'
import { nodeIdentitiesOf } from '../../src/platform/config/environment.ts'
import {
  ENDED_STAYS_MS,
  GONE_AFTER_MS,
  HEARTBEAT_MS,
  listFormerNodes,
  purgeEndedNodes,
  SIGN_MS,
  storeFailedStart,
} from '../../src/platform/nodes/registry.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook } from '../cli/command.ts'
import { adminOf } from '../monitoring/admin.ts'
import { openNodes } from '../monitoring/nodes.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

const SECRET = 'a secret that only tests know, long enough'

/** Three nodes that run, of which the second has ended in order. */
async function withEnded(t: Parameters<typeof openNodes>[0]) {
  const nodes = await openNodes(t)
  const [own, other, third] = [nodes.open('1'), nodes.open('2'), nodes.open('3')]
  for (const node of [own, other, third]) await node.heartbeat()
  nodes.state.now += HOUR_MS
  await other.leave()
  const pass = async (ms: number) => {
    nodes.state.now += ms
    for (const node of [own, third]) await node.heartbeat()
  }
  const readItems = async () => nodes.readAttention(own)
  return { ...nodes, own, pass, readItems }
}

test('a node that ended in order is named, and for an hour [postgres]', async (t) => {
  const { own, pass, readItems, state } = await withEnded(t)
  const endedAt = new Date(state.now).toISOString()
  await pass(0)
  assert.equal((await own.list()).length, 2, 'it is gone at once')
  assert.deepEqual(await readItems(), [], 'it may restart')
  await pass(GONE_AFTER_MS)
  const [item, ...others] = await readItems()
  assert.deepEqual(others, [])
  assert.deepEqual([item?.kind, item?.severity], ['nodes_missing', 'info'])
  const ended = [{ ended_at: endedAt, how: 'in_order' }]
  const { message, ...facts } = item!.facts
  assert.deepEqual(facts, { running: 2, ended })
  assert.match(message, /^In order: .*its log has the address, name or password that fails\.$/)
  await pass(HOUR_MS)
  assert.deepEqual(await readItems(), [])
})

test('a node of the same name, or one that starts then, ends the notice [postgres]', async (t) => {
  for (const name of ['api-2', 'api-2-of-the-next-release']) {
    const { open, pass, readItems } = await withEnded(t)
    await pass(GONE_AFTER_MS)
    assert.equal((await readItems()).length, 1)
    await open('4', undefined, { name }).heartbeat()
    assert.deepEqual(await readItems(), [], name)
  }
})

test('a node that came back under its name succeeds no other one [postgres]', async (t) => {
  const nodes = await openNodes(t)
  const [first, second, third] = [nodes.open('1'), nodes.open('2'), nodes.open('3')]
  for (const node of [first, second, third]) await node.heartbeat()
  nodes.state.now += HOUR_MS
  await first.leave()
  nodes.state.now += 3_000
  const again = nodes.open('4', undefined, { name: 'api-1' })
  await again.heartbeat()
  nodes.state.now += 13_000
  await second.leave()
  nodes.state.now += GONE_AFTER_MS
  for (const node of [again, third]) await node.heartbeat()
  const items = await nodes.readAttention(third)
  assert.deepEqual(
    items.map(({ kind }) => kind),
    ['nodes_missing'],
  )
  await nodes.open('5', undefined, { name: 'api-2' }).heartbeat()
  assert.deepEqual(await nodes.readAttention(third), [])
})

test('an end is not named once a later run of the same name has ended [postgres]', async (t) => {
  const nodes = await openNodes(t)
  const [own, killed] = [nodes.open('1'), nodes.open('2')]
  for (const node of [own, killed]) await node.heartbeat()
  // Its engine holds customers, so that the next start does not delete its row.
  await nodes.db.write((tx) => tx.run(sql`UPDATE gh_nodes SET heartbeat = 1 WHERE name = 'api-2'`))
  nodes.state.now += 2 * MINUTE_MS
  await own.heartbeat()
  const again = nodes.open('3', undefined, { name: 'api-2' })
  await again.heartbeat()
  assert.deepEqual(await nodes.readAttention(own), [])
  nodes.state.now += 10 * MINUTE_MS
  for (const node of [own, again]) await node.heartbeat()
  await again.leave()
  await own.heartbeat()
  assert.deepEqual(await nodes.readAttention(own), [], 'it may restart')
  nodes.state.now += GONE_AFTER_MS
  await own.heartbeat()
  const [item] = await nodes.readAttention(own)
  const { ended } = item!.facts as { ended: { how: string }[] }
  assert.deepEqual(
    ended.map(({ how }) => how),
    ['in_order'],
  )
})

test('a successor may start before the end, unless both started together [postgres]', async (t) => {
  for (const [ranMs, isSuccessor] of [
    [HOUR_MS, true],
    [MINUTE_MS, false],
  ] as const) {
    const { state, open, readAttention } = await openNodes(t)
    const own = open('1')
    state.now += HOUR_MS
    const former = open('2')
    await former.heartbeat()
    state.now += ranMs
    const next = open('3')
    await next.heartbeat()
    state.now += MINUTE_MS
    await former.leave()
    state.now += GONE_AFTER_MS
    for (const node of [own, next]) await node.heartbeat()
    assert.equal((await readAttention(own)).length, isSuccessor ? 0 : 1, `${ranMs} ms`)
  }
})

test('a successor of another role ends no notice [postgres]', async (t) => {
  const { open, pass, readItems } = await withEnded(t)
  const successor = open('4', () => ({ role: 'deliver' }))
  await successor.heartbeat()
  await pass(GONE_AFTER_MS - 1_000)
  await successor.heartbeat()
  assert.deepEqual(await readItems(), [])
  await pass(1_000)
  assert.equal((await readItems()).length, 1)
})

test('a failed start is named until a node of the name starts [postgres]', async (t) => {
  const { db, state, open, readAttention } = await openNodes(t)
  const own = open('1')
  await own.heartbeat()
  const failure = { reason: 'configuration', message: 'GATEHOOK_MODE expects a mode.' } as const
  for (let start = 0; start < 2; start++) {
    state.now += MINUTE_MS
    await storeFailedStart(db, 'api-2', failure, state.now)
  }
  await own.heartbeat()
  const items = await readAttention(own)
  assert.deepEqual(
    items.map(({ kind, severity, subject, facts }) => [kind, severity, subject.label, facts]),
    [['node_start_failed', 'bad', 'api-2', failure]],
  )
  assert.equal((await own.list()).length, 1)
  state.now += HOUR_MS
  await own.heartbeat()
  assert.equal((await readAttention(own))[0]?.severity, 'info')
  await open('2').heartbeat()
  assert.deepEqual(await readAttention(own), [])
})

test('rows of nodes that ended stay for a day [postgres]', async (t) => {
  const { db, state, pass } = await withEnded(t)
  const failure = { reason: 'configuration', message: 'GATEHOOK_MODE expects a mode.' } as const
  await storeFailedStart(db, 'api-4', failure, state.now)
  await pass(ENDED_STAYS_MS - 1)
  assert.equal(await purgeEndedNodes(db, state.now), 0)
  await pass(1)
  assert.equal(await purgeEndedNodes(db, state.now), 2)
  const rows = await db.arrays(sql`SELECT name FROM gh_nodes ORDER BY name`)
  assert.deepEqual(rows, [['api-1'], ['api-3']])
})

test('a start with a mistake is named before it opens the database [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_NODE_NAME: 'api-2',
    GATEHOOK_RATE_LIMIT: 'many',
  }
  const result = await gatehook({ cwd: emptyFolder(t), env }, 'start')
  assert.equal(result.exit, 78, result.stderr)
  const db = await openForTest(t, url)
  const [row, ...others] = await listFormerNodes(db, 0, Date.now())
  assert.deepEqual(others, [])
  assert.deepEqual([row?.name, row?.failure?.reason], ['api-2', 'configuration'])
  assert.match(row!.failure!.message, /^GATEHOOK_RATE_LIMIT .*many/)
})

test('a start whose port is taken is named [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const other = createServer().listen(0, '127.0.0.1')
  onEnd(t, () => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_NODE_NAME: 'api-2',
    GATEHOOK_HOST: '127.0.0.1',
    GATEHOOK_PORT: String(port),
    GATEHOOK_SECRET_KEY: SECRET,
  }
  const result = await gatehook({ cwd: emptyFolder(t), env }, 'start')
  assert.notEqual(result.exit, 0, result.stderr)
  const [row] = await listFormerNodes(await openForTest(t, url), 0, Date.now())
  assert.equal(row?.name, 'api-2')
  assert.match(row.failure!.message, new RegExp(`EADDRINUSE.*${port}`))
})

test('a start with another master secret is named by the other node [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const first = await openService(t, 'postgres', { url })
  await first.app.work()
  const admin = await adminOf(first)
  const countFailed = sql`SELECT count(*) FROM gh_nodes WHERE failure IS NOT NULL`
  const WRONG = 'another secret that is long enough, too'
  const start = async (isCommand: boolean) => {
    const config = loadConfig({
      GATEHOOK_DATABASE_URL: url,
      GATEHOOK_NODE_NAME: 'api-2',
      GATEHOOK_SECRET_KEY: WRONG,
    })
    await assert.rejects(openApp({ config, service: api, log: quietLog, isCommand }), ConfigError)
  }
  const readEnded = async () =>
    (await admin.get('/admin/attention')).body.data.filter(
      ({ kind }: { kind: string }) => kind === 'node_start_failed',
    )
  await start(true)
  assert.deepEqual(await first.app.db.arrays(countFailed), [[0]], 'a command is no node')
  await start(false)
  const [item, ...others] = await readEnded()
  assert.deepEqual(others, [])
  assert.equal(item.subject.label, 'api-2')
  assert.equal(item.facts.reason, 'configuration')
  assert.match(item.facts.message, /secret/)
  assert.ok(!JSON.stringify(item).includes(WRONG) && !JSON.stringify(item).includes(SECRET))
})

test('a node whose report is late is not ready before it has ended [postgres]', async (t) => {
  const { state, open, readAttention } = await openNodes(t)
  const [own, other] = [open('1'), open('2')]
  await own.heartbeat()
  await other.heartbeat()
  state.now += 2 * SIGN_MS
  await own.sign()
  assert.deepEqual(await readAttention(own), [])
  state.now += 1_000
  await own.sign()
  const [item] = await readAttention(own)
  assert.deepEqual([item?.kind, item?.subject.label], ['node_not_ready', 'api-2'])
  const [reason, ...others] = item!.facts.reasons
  assert.deepEqual([reason.check, others], ['report', []])
  assert.match(reason.message, /^The node has not reported for 11 s: .*reaches no database\./)
  await other.sign()
  assert.deepEqual(await readAttention(own), [])
})

/** Nodes that a power cut has ended 10 s ago, as one that starts now would list them. */
async function afterPowerCut(t: Parameters<typeof openNodes>[0], names: readonly string[]) {
  const nodes = await openNodes(t)
  for (const name of names) await nodes.open(`former-${name}`, undefined, { name }).heartbeat()
  nodes.state.now += 10_000
  const start = async (name: string, facts?: () => Partial<NodeFacts>) => {
    const node = nodes.open(`next-${name}`, facts, { name })
    await node.heartbeat()
    return node
  }
  return { ...nodes, start }
}

test('a successor replaces the entry of a killed node at once [postgres]', async (t) => {
  const { start, state, readAttention } = await afterPowerCut(t, ['a', 'b', 'c'])
  const [own, other] = [await start('a'), await start('b')]
  for (const ageMs of [0, 2 * SIGN_MS, GONE_AFTER_MS - 2 * SIGN_MS]) {
    state.now += ageMs
    for (const node of [own, other]) await node.heartbeat()
    const names = (await own.list()).map(({ id }) => id)
    assert.deepEqual(names.sort(), ['former-c', 'next-a', 'next-b'], `${ageMs} ms`)
  }
  const items = (await readAttention(own)).map(({ kind, subject }) => [kind, subject.label])
  assert.deepEqual(items, [['node_not_ready', 'c']], 'a node without a successor is named')
})

test('a node succeeds one of another name at its host and port [postgres]', async (t) => {
  const { open, state } = await openNodes(t)
  const at = (port: number) => () => ({ identities: [`host 0.0.0.0:${port}`] })
  for (const port of [1, 2]) await open(`former-${port}`, at(port)).heartbeat()
  state.now += 10_000
  const own = open('next-1', at(1))
  await own.heartbeat()
  const names = async () => (await own.list()).map(({ id }) => id).sort()
  assert.deepEqual(await names(), ['former-2', 'next-1'])
})

test('a node succeeds one killed node of its name at most [postgres]', async (t) => {
  const { open, state } = await openNodes(t)
  for (const id of ['1', '2']) await open(id, undefined, { name: 'api' }).heartbeat()
  state.now += 10_000
  const own = open('3', undefined, { name: 'api' })
  await own.heartbeat()
  assert.equal((await own.list()).length, 2)
  state.now += 1_000
  await open('4', undefined, { name: 'api' }).heartbeat()
  assert.deepEqual((await own.list()).map(({ id }) => id).sort(), ['3', '4'])
})

test('a node that hangs beside one of its name stays listed [postgres]', async (t) => {
  const { open, state } = await openNodes(t)
  const [own, other] = ['1', '2'].map((id) => open(id, undefined, { name: 'api' }))
  state.now += 10_000
  for (const node of [own!, other!]) await node.heartbeat()
  state.now += GONE_AFTER_MS + 1
  await own!.heartbeat()
  const states = (await own!.list()).map(({ id, state }) => `${id} ${state}`)
  assert.deepEqual(states, ['1 ready', '2 gone'])
})

test('two nodes of a host, or of no port, have no identity in common', () => {
  const identitiesOf = (env: Record<string, string>) => nodeIdentitiesOf(loadConfig(env))
  assert.deepEqual(identitiesOf({ GATEHOOK_PORT: '0' }), [])
  assert.deepEqual(identitiesOf({ GATEHOOK_PORT: '0', GATEHOOK_NODE_NAME: 'a' }), ['a'])
  const [first, second] = ['8787', '8788'].map((port) => identitiesOf({ GATEHOOK_PORT: port }))
  assert.equal(first!.length, 1)
  assert.notDeepEqual(first, second)
})

test('a node with a wrong clock is late after 30 s only [postgres]', async (t) => {
  const { state, open, readAttention } = await openNodes(t)
  const message = "The clock of this node is 8 s behind the database's."
  const own = open('1')
  const other = open('2', () => ({ warnings: [{ check: 'clock', message, since: state.now }] }))
  await own.heartbeat()
  await other.heartbeat()
  const kinds = async () => (await readAttention(own)).map(({ kind }) => kind)
  state.now += 2 * HEARTBEAT_MS
  assert.deepEqual(await kinds(), ['node_warning'])
  state.now += 1_000
  assert.deepEqual(await kinds(), ['node_not_ready'])
})
