/** §2.4: the first signal lets requests in flight finish, the second does not wait. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { formatKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { emptyFolder, serving } from '../cli/process.ts'

/** Reads until the first request is answered by nobody any more. */
const untilRefused = async (url: string) => {
  for (;;) {
    const answered = await fetch(url, { headers: { connection: 'close' } }).then(
      (answer) => answer.body?.cancel().then(() => true) ?? true,
      () => false,
    )
    if (!answered) return
  }
}

/** A service with one request whose body is not finished; `answered` rejects when it is cut off. */
async function withRequestInFlight(t: TestContext) {
  const key = formatKey(systemRandom(), 'live')
  const place = { cwd: emptyFolder(t), env: { GATEHOOK_BOOTSTRAP_KEY: key } }
  const run = await serving(t, place, '--no-seed')
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const slow = request(`${run.url}/admin/customers`, { method: 'POST', headers })
  const answered = new Promise<number | undefined>((resolve, reject) => {
    slow.once('error', reject)
    slow.once('response', (answer) => resolve(answer.resume().statusCode))
  })
  answered.catch(() => undefined)
  slow.write('{"name":')
  // Its head has arrived once a later request on a connection of its own is answered.
  await fetch(`${run.url}/healthz`, { headers: { connection: 'close' } })
  run.kill('SIGTERM')
  await untilRefused(`${run.url}/healthz`)
  return { run, slow, answered }
}

test('a request in flight is finished before the process ends', async (t) => {
  const { run, slow, answered } = await withRequestInFlight(t)
  slow.end('"Acme"}')
  assert.equal(await answered, 201)
  assert.equal((await run.ended).exit, 0)
})

test('a second signal does not wait for it', async (t) => {
  const { run, answered } = await withRequestInFlight(t)
  run.kill('SIGTERM')
  assert.equal((await run.ended).exit, 143)
  await assert.rejects(answered, { code: 'ECONNRESET' })
})
