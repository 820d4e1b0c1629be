/** `listen` and `trigger` in real processes: an event reaches a receiver that verifies it. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freePort } from '../../../../test/rig/postgres.ts'
import { nodeReceiver } from '../../../receiver/src/node.ts'
import { gatehook, jsonOf, type Place } from './command.ts'
import { launched, serving } from './process.ts'

interface Received {
  readonly id: string
  readonly type: string
  readonly scheme: string
}

/** Starts a receiver. The caller adds to `secrets` the secret that `listen` prints. */
async function startReceiver(t: TestContext, secrets: string[]) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const handle = nodeReceiver({
      secrets,
      onEvent: ({ id, type }, { scheme }) => void received.push({ id, type, scheme }),
    })
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  const { port } = server.address() as AddressInfo
  return { received, to: `127.0.0.1:${port}/hook` }
}

const hasType = (type: string) => (line: Record<string, unknown>) => line.type === type

async function openPlace(t: TestContext) {
  const place: Place = { cwd: emptyFolder(t) }
  const port = String(await freePort())
  const node = await serving(t, place, '--no-seed', '--port', port)
  const listening = async (...args: string[]) => {
    const run = launched(t, place, 'listen', '--port', port, '--json', ...args)
    const first = await run.line((line) => line.listening !== undefined)
    return { ...run, secret: (first.listening as { secret: string }).secret }
  }
  return { place, node, port, listening }
}

test('a triggered event arrives, signed with the local secret', async (t) => {
  const { place, listening } = await openPlace(t)
  const secrets: string[] = []
  const { received, to } = await startReceiver(t, secrets)
  const listen = await listening('--forward-to', to)
  const { secret } = listen
  secrets.push(secret)
  const file = join(place.cwd, 'data', 'listen.secret')
  assert.equal(readFileSync(file, 'utf8').trim(), secret)
  assert.equal(statSync(file).mode & 0o777, 0o600)

  const event = await jsonOf(place, 'trigger', 'order.paid')
  assert.deepEqual([event.type, event.data.object.status], ['order.paid', 'paid'])
  const line = await listen.line(hasType('order.paid'))
  assert.deepEqual(
    [line.event_id, line.response_status, line.delivered, line.attempt, line.error, line.event],
    [event.id, 200, true, 1, null, event],
  )
  assert.deepEqual(received.at(-1), { id: event.id, type: 'order.paid', scheme: 'B' })
  const types = received.map(({ type }) => type)
  assert.deepEqual(types, ['user.created', 'order.created', 'order.paid'], 'no other events')

  listen.kill('SIGINT')
  assert.equal((await listen.ended).exit, 0)
  const keys = await jsonOf(place, 'keys', 'list')
  assert.deepEqual(keys.data, [], 'the borrowed key is revoked')
  assert.equal((await listening()).secret, secret)
})

test('a restart of the node loses no event', async (t) => {
  const { place, node, port, listening } = await openPlace(t)
  const listen = await listening('--events', 'user.*')
  await jsonOf(place, 'trigger', 'user.created')
  await listen.line(hasType('user.created'))
  node.kill('SIGKILL')
  await node.ended
  await jsonOf(place, 'trigger', 'user.updated')
  launched(t, place, 'start', '--port', port)
  await listen.line(hasType('user.updated'))
  const types = listen.lines.slice(1).map(({ type }) => type)
  assert.deepEqual(types, ['user.created', 'user.created', 'user.updated'])
})

test('failed deliveries are printed, and later events follow', async (t) => {
  const { place, listening } = await openPlace(t)
  const { to } = await startReceiver(t, ['whsec_another'])
  const listen = await listening('--forward-to', to)
  await jsonOf(place, 'trigger', 'payment.succeeded', '--data', '{"id":"pay_1"}')
  const line = await listen.line(hasType('payment.succeeded'))
  assert.deepEqual([line.response_status, line.delivered], [400, false])
  const unreachable = await listening('--forward-to', 'http://127.0.0.1:9/')
  await jsonOf(place, 'trigger', 'payment.succeeded')
  const { response_status, error } = await unreachable.line(hasType('payment.succeeded'))
  assert.deepEqual([response_status, error], [null, 'the connection was refused'])
})

test('invalid input is reported in a sentence', async (t) => {
  const { place, port } = await openPlace(t)
  const typo = await gatehook(place, 'trigger', 'order.payed')
  assert.deepEqual([typo.exit, /Did you mean order\.paid\?/.test(typo.stderr)], [2, true])
  const data = await gatehook(place, 'trigger', 'order.paid', '--data', '[]')
  assert.deepEqual([data.exit, /--data is no JSON object/.test(data.stderr)], [2, true])
  const wrong = await gatehook(place, 'trigger', 'order.created', '--data', '{"amount":0}')
  assert.deepEqual([wrong.exit, /amount/.test(wrong.stderr)], [1, true])
  const foreign = { ...place, env: { GATEHOOK_API_KEY: `gk_test_${'x'.repeat(32)}` } }
  const refused = await gatehook(foreign, 'listen', '--port', port)
  assert.deepEqual([refused.exit, /API key/.test(refused.stderr)], [1, true])
  const elsewhere: Place = { cwd: emptyFolder(t) }
  assert.equal((await gatehook(elsewhere, 'migrate')).exit, 0)
  const other = await gatehook(elsewhere, 'listen', '--port', port)
  assert.deepEqual([other.exit, /uses another database/.test(other.stderr)], [1, true])
  const unreachable = await gatehook(place, 'listen', '--port', '9')
  assert.deepEqual(
    [unreachable.exit, /No node answers at .*:9/.test(unreachable.stderr)],
    [1, true],
  )
})
