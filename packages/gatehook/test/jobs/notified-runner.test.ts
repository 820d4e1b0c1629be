/** §2.5: a node that runs no jobs notifies those that do, which poll rarely while they are idle. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { openApp } from '../../src/app.ts'
import { job } from '../../src/declare/resources/job.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { service } from '../../src/declare/resources/service.ts'
import { NO_DECLARED_OBJECTS } from '../../src/history/events/stored-objects.ts'
import { keyCreation } from '../../src/identity/access/key-members.ts'
import { createKey } from '../../src/identity/access/keys.ts'
import { type EngineSettings, openEngineHost } from '../../src/outbound/deliveries/host.ts'
import { CHANNEL, JOBS_DUE } from '../../src/outbound/deliveries/wake-up.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { readMembers } from '../../src/protocol/fields/body.ts'
import { f } from '../../src/protocol/fields/f.ts'

const SECRET = 'a secret that only tests know, long enough'

const pack = job('pack', { state: f.string() })
const orders = resource('orders', {
  fields: { id: f.id(), state: f.string().default('new') },
  list: { filter: [], sort: ['id'] },
  access: { read: 'public', create: 'w', update: false, delete: false },
  events: [],
}).rule('create', async ({ tx, after }) => {
  await tx.enqueue(pack, { state: after.state })
})
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [orders],
}).job(pack, async () => {})

test('a node without a runner announces its jobs [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const config = loadConfig({ GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: SECRET })
  const app = await openApp({ config, service: shop, log: quietLog, delivers: false })
  onEnd(t, () => app.close())
  const db = await openForTest(t, url)
  const { promise: message, resolve } = Promise.withResolvers<string>()
  onEnd(t, await db.listen(CHANNEL, resolve))
  const caller = { actor: { kind: 'test', id: 'test' } as never, customer: 'default' }
  const input = readMembers({ name: 'a', scopes: ['w'] }, keyCreation(app.administration))
  const { key } = await createKey(app.administration, input, caller)
  const headers = { host: 'localhost', 'content-type': 'application/json', 'x-api-key': key }
  const request = { method: 'POST', url: '/api/v1/orders', headers, payload: '{}' } as const
  assert.equal((await app.inject(request)).statusCode, 201)
  assert.equal(await message, JOBS_DUE)
})

test('the engine of a node passes the announcement on [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const settings = {
    database: { url },
    node: 'test',
    nodeName: 'test',
    masterSecrets: [SECRET],
    testClock: false,
    scheduleS: [5],
    timeoutMs: 15_000,
    allowPrivate: false,
    userAgent: 'test',
    shape: 'v1',
    coverage: {},
    declaredObjects: NO_DECLARED_OBJECTS,
    eventHandlers: {},
  } as unknown as EngineSettings
  const { promise: announced, resolve } = Promise.withResolvers<void>()
  const host = await openEngineHost(settings, { log: quietLog, receivers: { [JOBS_DUE]: resolve } })
  onEnd(t, () => host.stop(0))
  const db = await openForTest(t, url)
  await db.notify(CHANNEL, JOBS_DUE)
  await announced
})
