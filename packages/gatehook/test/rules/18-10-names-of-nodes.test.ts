/** §18.10: logs, metrics, system, attention and audit carry the name of a node. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { createLineLog, createLog } from '../../src/kernel/log.ts'
import { ConfigError, loadConfig } from '../../src/platform/config/config.ts'
import { nodeNameOf } from '../../src/platform/config/environment.ts'
import { HEARTBEAT_MS } from '../../src/platform/nodes/registry.ts'
import { adminOf } from '../monitoring/admin.ts'
import { openNodes } from '../monitoring/nodes.ts'

const NAME = 'api-1.example'
const withName = { env: { GATEHOOK_NODE_NAME: NAME } }

eachService(
  'metrics, system and audit carry the name of the node',
  async (service) => {
    const admin = await adminOf(service)
    await admin.post('/admin/customers', { name: 'Acme' })
    assert.match(
      (await admin.get('/metrics')).text,
      /^gatehook_build_info\{.*node_name="api-1\.ex/m,
    )
    const { nodes } = (await admin.get('/admin/system')).body
    assert.deepEqual(
      nodes.map(({ name }: { name: string }) => name),
      [NAME],
    )
    const { data } = (await admin.get('/admin/audit?limit=100')).body
    assert.ok(data.length >= 2)
    for (const { node, action } of data) assert.equal(node, NAME, action)
    assert.equal((await service.app.audit.verify()).valid, true)
  },
  withName,
)

test('every line of a log carries the name of the node', () => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({ level: 'info', node: NAME, destination })
  log.warn({ a: 1 }, 'by pino')
  createLineLog(log).write('info', () => '"a":1')
  createLog({ level: 'info', destination }).warn('of a command')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).node),
    [NAME, NAME, undefined],
  )
})

test('the name is a short text of safe characters, by default the name of the host', () => {
  assert.equal(nodeNameOf(loadConfig({})), hostname())
  assert.equal(nodeNameOf(loadConfig({ GATEHOOK_NODE_NAME: 'a' })), 'a')
  for (const name of ['a b', 'a"b', 'é', '\u001b[1m', 'a'.repeat(129)]) {
    assert.throws(() => loadConfig({ GATEHOOK_NODE_NAME: name }), ConfigError, name)
  }
})

test('a node that ended is gone within a minute [postgres]', async (t) => {
  const { state, open, readAttention } = await openNodes(t)
  const [own, other] = [open('1'), open('2')]
  await own.heartbeat()
  await other.heartbeat()
  const states = async () => (await own.list()).map(({ name, state }) => `${name} ${state}`)
  const pass = async (ms: number) => {
    state.now += ms
    await own.heartbeat()
  }
  const kinds = async () =>
    (await readAttention(own)).map(({ kind, severity }) => `${kind} ${severity}`)
  assert.deepEqual(await states(), ['api-1 ready', 'api-2 ready'])
  await pass(3 * HEARTBEAT_MS + 1)
  assert.deepEqual(await states(), ['api-1 ready', 'api-2 gone'])
  assert.deepEqual(await kinds(), ['node_not_ready bad'])
  await pass(60_000 - 3 * HEARTBEAT_MS)
  assert.deepEqual(await states(), ['api-1 ready'])
  assert.deepEqual(await kinds(), ['nodes_missing warn'])
  await pass(3_600_000)
  assert.deepEqual(await kinds(), [])
})
