/** §18.10: System and attention name options and declarations that differ between nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import { findDifferences } from '../../src/operate/monitoring/node-differences.ts'
import { f } from '../../src/protocol/fields/f.ts'
import { adminOf } from '../monitoring/admin.ts'
import { openNodes } from '../monitoring/nodes.ts'

const MINUTE_MS = 60_000

test('options that differ are named with nodes, secrets without values [postgres]', async (t) => {
  const { state, open, readAttention } = await openNodes(t)
  const secretsOf = (keyId: string, digest: string) => ({
    secrets: { keyId, digests: { CLIENT_SECRET: digest } },
  })
  const nodes = [
    open('1', () => ({ options: { PROXY: '10.0.0.1', LIMIT: '9' }, ...secretsOf('k', 'd1') })),
    open('2', () => ({ options: { PROXY: '10.0.0.1', LIMIT: '9' }, ...secretsOf('k', 'd2') })),
    open('3', () => ({ options: { LIMIT: '9' }, ...secretsOf('rotated', 'd3') })),
  ]
  for (const node of nodes) await node.heartbeat()
  const [item, ...others] = await readAttention(nodes[0]!)
  assert.deepEqual(others, [])
  assert.deepEqual([item?.kind, item?.severity], ['node_options_differ', 'info'])
  const columns: string[] = []
  assert.deepEqual(item?.facts.differences, [
    {
      name: 'PROXY',
      values: [
        { value: '10.0.0.1', nodes: ['api-1', 'api-2'] },
        { value: 'none', nodes: ['api-3'] },
      ],
      columns,
    },
    {
      name: 'CLIENT_SECRET',
      values: [
        { value: null, nodes: ['api-1'] },
        { value: null, nodes: ['api-2'] },
      ],
      columns,
    },
  ])
  state.now += 10 * MINUTE_MS
  for (const node of nodes) await node.heartbeat()
  assert.equal((await readAttention(nodes[0]!))[0]?.severity, 'warn', 'no restart one by one')
})

test('a difference that callers feel is a warning from the start [postgres]', async (t) => {
  const { open, readAttention } = await openNodes(t)
  const limited = { options: { GATEHOOK_RATE_LIMIT: '10/60' } }
  const nodes = [open('1'), open('2', () => limited)]
  for (const node of nodes) await node.heartbeat()
  const [item] = await readAttention(nodes[0]!)
  assert.deepEqual([item?.kind, item?.severity], ['node_options_differ', 'warn'])
})

const shop = (isFormer: boolean) =>
  service({
    name: 'shop',
    versions: { v1: { released: '2026-01-01' } },
    resources: [
      resource('notes', {
        fields: { id: f.id(), text: f.string(), ...(!isFormer && { size: f.int().default(1) }) },
        list: { filter: [], sort: ['id'] },
        access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
        events: [],
      }),
      resource('marks', {
        fields: { id: f.id(), text: f.string().max(isFormer ? 10 : 20) },
        list: { filter: [], sort: ['id'] },
        access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
        events: [],
      }),
    ],
  })

test('System and attention compare the options and declarations of nodes [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const envOf = (name: string, clientSecret: string) => ({
    GATEHOOK_NODE_NAME: name,
    GATEHOOK_OPERATORS_ISSUER: 'https://login.example.com',
    GATEHOOK_OPERATORS_CLIENT_ID: 'console',
    GATEHOOK_OPERATORS_ROLES: 'staff=viewer',
    GATEHOOK_OPERATORS_CLIENT_SECRET: clientSecret,
    GATEHOOK_LOG_LEVEL: name === 'api-1' ? 'info' : 'warn',
  })
  const env = envOf('api-1', 'of-the-first')
  const first = await openService(t, 'postgres', { url, env, service: shop(true) })
  await first.app.work()
  const admin = await adminOf(first)
  const read = async () => (await admin.get('/admin/system')).body.node_differences
  assert.deepEqual(await read(), [])
  const second = await openService(t, 'postgres', {
    url,
    service: shop(false),
    env: { ...envOf('api-2', 'of-the-second'), GATEHOOK_TRUST_PROXY: '10.0.0.0/8' },
  })
  await second.app.work()
  const differences = await read()
  assert.deepEqual(
    differences.map(({ kind, name, columns }: Record<string, unknown>) => [kind, name, columns]),
    [
      ['option', 'GATEHOOK_TRUST_PROXY', []],
      ['option', 'GATEHOOK_OPERATORS_CLIENT_SECRET', []],
      ['declaration', 'marks', []],
      ['declaration', 'notes', ['size']],
    ],
  )
  assert.deepEqual(differences[0].values, [
    { value: 'none', nodes: ['api-1'] },
    { value: '10.0.0.0/8', nodes: ['api-2'] },
  ])
  assert.doesNotMatch(JSON.stringify(differences), /of-the/)
  const { data } = (await admin.get('/admin/attention')).body
  // On a busy machine it has other items, too.
  const kinds = data.map(({ kind }: { kind: string }) => kind)
  assert.deepEqual(
    kinds.filter((kind: string) => kind.endsWith('_differ')),
    ['node_options_differ', 'node_declarations_differ'],
  )
})

test('an option that a node does not set has its default', () => {
  const nodeOf = (name: string, options: object) =>
    ({ name, state: 'ready', options, declaration: {}, ...SECRETS, columns: {} }) as never
  const replica = nodeOf('api-1', { GATEHOOK_DURABILITY: 'replica' })
  assert.deepEqual(findDifferences([replica, nodeOf('api-2', {})])[0]?.values, [
    { value: 'replica', nodes: ['api-1'] },
    { value: 'local', nodes: ['api-2'] },
  ])
})

const SECRETS = { secrets: { keyId: 'k', digests: {} } }
