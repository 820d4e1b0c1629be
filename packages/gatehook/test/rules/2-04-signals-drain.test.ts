/** §2.4: the first signal lets requests in flight finish, the second does not wait. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { launch } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

/** Reads until the server no longer accepts requests. */
const untilRefused = async (url: string) => {
  for (;;) {
    const answered = await fetch(url, { headers: { connection: 'close' } }).then(
      (answer) => answer.body?.cancel().then(() => true) ?? true,
      () => false,
    )
    if (!answered) return
  }
}

type Headers = Record<string, string>

/**
 * Sends the signal to a service during the body of a request; `answered` rejects if the request is
 * cut off. `meanwhile` runs before the signal.
 */
async function withRequestInFlight(
  t: TestContext,
  meanwhile: (url: string, headers: Headers) => Promise<unknown> = async () => undefined,
) {
  const key = generateApiKey(systemRandom(), 'live')
  const env = { GATEHOOK_BOOTSTRAP_KEY: key, GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
  const run = await serving(t, { cwd: emptyFolder(t), env }, '--no-seed')
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const slow = request(`${run.url}/admin/customers`, { method: 'POST', headers })
  const answered = new Promise<number | undefined>((resolve, reject) => {
    slow.once('error', reject)
    slow.once('response', (answer) => resolve(answer.resume().statusCode))
  })
  answered.catch(() => undefined)
  slow.write('{"name":')
  await meanwhile(run.url, headers)
  // Its head has arrived when a later request on another connection has its response.
  await fetch(`${run.url}/healthz`, { headers: { connection: 'close' } })
  run.kill('SIGTERM')
  await untilRefused(`${run.url}/healthz`)
  return { run, slow, answered }
}

test('a request in flight completes before the process exits', async (t) => {
  const { run, slow, answered } = await withRequestInFlight(t)
  slow.end('"Acme"}')
  assert.equal(await answered, 201)
  assert.equal((await run.ended).exit, 0)
})

/** A receiver that has received an event and responds on demand. */
async function slowReceiver(t: TestContext) {
  const receiver = createServer()
  receiver.keepAliveTimeout = 0 // it is not the one who closes the connection
  const sent = new Promise<{ answer: () => void; left: Promise<unknown> }>((resolve) => {
    receiver.on('request', ({ headers, socket }, response) => {
      if (headers['gatehook-event'] === 'webhook.ping') return response.end()
      resolve({ answer: () => response.end(), left: once(socket, 'close') })
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => receiver.close())
  return { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, sent }
}

test('requests and deliveries drain concurrently: their time limits do not add up', async (t) => {
  const receiver = await slowReceiver(t)
  const { run, slow, answered } = await withRequestInFlight(t, async (url, headers) => {
    const post = async (path: string, body: object) => {
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      assert.equal((await fetch(`${url}${path}`, init)).status, 201)
    }
    await post('/webhooks', { url: receiver.url, events: ['payment.succeeded'] })
    await post('/events', { type: 'payment.succeeded', object: {} })
    await receiver.sent
  })
  const { answer, left } = await receiver.sent
  answer()
  await left
  slow.end('"Acme"}')
  assert.equal(await answered, 201)
  assert.equal((await run.ended).exit, 0)
})

test('a second signal ends the process at once', async (t) => {
  const { run, answered } = await withRequestInFlight(t)
  run.kill('SIGTERM')
  assert.equal((await run.ended).exit, 143)
  await assert.rejects(answered, { code: 'ECONNRESET' })
})

/** More than a pipe or a socket holds without a reader. */
const LOG_BYTES = 4 * 2 ** 20
const TARGET = `/${'x'.repeat(8_000)}`

/** Starts a service whose standard output is read until it listens. */
async function withoutReader(t: TestContext) {
  const child = launch(['start', '--port', '0', '--no-seed'], { cwd: emptyFolder(t) })
  const ended = once(child, 'exit')
  onEnd(t, () => child.kill('SIGKILL') && ended)
  let text = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.includes('"msg":"listening"')) break
  }
  const { url } = JSON.parse(text.split('\n').find((line) => line.includes('"listening"'))!)
  for (let bytes = 0; bytes < LOG_BYTES; bytes += TARGET.length) {
    await (await fetch(`${url}${TARGET}`)).body?.cancel()
  }
  return { child, ended }
}

test('a process ends although nothing reads its standard output', async (t) => {
  const { child, ended } = await withoutReader(t)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [null, 'SIGTERM'])
})
