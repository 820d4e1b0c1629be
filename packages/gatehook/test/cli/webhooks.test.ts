/** `webhooks` and `events` in real processes, on a database that no node uses. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { gatehook, jsonOf } from './command.ts'
import { serving } from './process.ts'

async function startReceiver(t: TestContext) {
  const types: unknown[] = []
  let status = 200
  const server = createServer((request, response) => {
    types.push(request.headers['gatehook-event'])
    request.resume().on('end', () => response.writeHead(status).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  const respondWith = (code: number) => {
    status = code
  }
  return {
    types,
    respondWith,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
  }
}

const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }

test('a registration is created, tested, rotated, replayed and deleted', async (t) => {
  const place = { cwd: emptyFolder(t), env }
  await gatehook(place, 'migrate')
  const { url, types, respondWith } = await startReceiver(t)
  const created = await jsonOf(place, 'webhooks', 'create', url, '--events', 'order.*')
  assert.match(created.secret, /^whsec_/)
  const { data } = await jsonOf(place, 'webhooks', 'list')
  assert.deepEqual(
    data.map(({ id, secret }: { id: string; secret?: string }) => [id, secret]),
    [[created.id, undefined]],
  )
  const tested = await jsonOf(place, 'webhooks', 'test', created.id)
  assert.deepEqual([tested.delivered, types], [true, ['webhook.ping', 'order.created']])
  respondWith(500)
  const failing = await gatehook(place, 'webhooks', 'test', created.id, '--type', 'order.paid')
  assert.equal(failing.exit, 1)
  assert.match(failing.stdout, /^not delivered: .*500/)
  const rotated = await jsonOf(place, 'webhooks', 'rotate', created.id, '--overlap', '1h')
  assert.notEqual(rotated.secret, created.secret)
  await jsonOf(place, 'trigger', 'order.paid')
  const log = (await jsonOf(place, 'webhooks', 'deliveries', created.id, '--state', 'pending')).data
  assert.deepEqual(
    log.map(({ event_type }: { event_type: string }) => event_type),
    ['order.paid', 'order.created'],
  )
  const resent = await jsonOf(place, 'webhooks', 'resend', log[0].id)
  assert.deepEqual([resent.id, resent.state], [log[0].id, 'pending'])
  assert.deepEqual(await jsonOf(place, 'webhooks', 'delete', created.id), {
    id: created.id,
    deleted: true,
  })
  const gone = await gatehook(place, 'webhooks', 'test', created.id)
  assert.deepEqual([gone.exit, /There is no registration wh_/.test(gone.stderr)], [1, true])
  const none = (await gatehook(place, 'webhooks', 'list')).stdout
  assert.match(
    none,
    /^No registrations in the test data of cus_default; other data: --mode, --customer/,
  )
  const live = await gatehook(place, 'events', 'list', '--mode', 'live')
  assert.match(live.stdout, /^No events in the live data of cus_default; /)
})

test('events are listed, newest first, and printed; with a key, of a running node', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const node = await serving(t, place, '--no-seed')
  const paid = await jsonOf(place, 'trigger', 'order.paid')
  const { data } = await jsonOf(place, 'events', 'list', '--count', '2')
  assert.deepEqual(
    data.map(({ type }: { type: string }) => type),
    ['order.paid', 'order.created'],
  )
  assert.deepEqual(await jsonOf(place, 'events', 'show', paid.id), paid)
  const scopes = 'events:read,orders:read'
  const flags = ['--name', 'reader', '--mode', 'test', '--scopes', scopes]
  const { key } = await jsonOf(place, 'keys', 'create', ...flags)
  const afar = { cwd: emptyFolder(t), env: { GATEHOOK_API_KEY: key } }
  assert.deepEqual(await jsonOf(afar, 'events', 'show', paid.id, '--url', node.url), paid)
  const refused = await gatehook(afar, 'webhooks', 'list', '--url', node.url)
  assert.deepEqual([refused.exit, /webhooks:read/.test(refused.stderr)], [1, true])
  const keyless = await gatehook(place, 'events', 'list', '--url', node.url)
  assert.deepEqual([keyless.exit, /GATEHOOK_API_KEY/.test(keyless.stderr)], [1, true])
})
