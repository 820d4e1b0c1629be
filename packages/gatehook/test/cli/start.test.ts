/**
 * `start` as a process: JSON lines without secrets, roles, sample data, signals (§2.2, §2.4,
 * §2.5).
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { formatKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { emptyFolder, gatehook, serving } from './process.ts'

const newKey = () => formatKey(systemRandom(), 'live')

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

test('without a terminal it logs JSON lines, and none of them holds a secret', async (t) => {
  const cwd = emptyFolder(t)
  const key = newKey()
  const run = await serving(t, { cwd, env: { GATEHOOK_BOOTSTRAP_KEY: key } })
  const { url } = run
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.ok(
    run.lines.some((line) => /migration/.test(String(line.msg))),
    'progress is shown',
  )
  const ready = await fetch(`${url}/readyz`)
  assert.equal(ready.status, 200)
  assert.equal((await fetch(`${url}/api/v2/protected?api_key=${key}`)).status, 200)
  run.kill('SIGTERM')
  const { exit, stdout, stderr } = await run.ended
  assert.equal(exit, 0)
  assert.equal(stderr, '')
  const secret = readFileSync(join(cwd, 'data', 'secret.key'), 'utf8').trim()
  for (const hidden of [key, secret]) assert.ok(!stdout.includes(hidden))
  assert.doesNotMatch(stdout, /gk_(live|test)_[0-9A-Za-z]{38}/)
  assert.equal(run.lines.at(-1)?.msg, 'stopped')
})

test('sample data comes with the first start unless --no-seed; seed brings it later', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const run = await serving(t, place, '--no-seed')
  assert.ok(!run.lines.some((line) => /sample/.test(String(line.msg))))
  run.kill('SIGTERM')
  await run.ended
  const seeded = await gatehook(place, 'seed', '--json')
  assert.equal(seeded.exit, 0, seeded.stderr)
  const { rows } = JSON.parse(seeded.stdout)
  assert.deepEqual(Object.values(rows), [25, 120])
  const again = await gatehook(place, 'seed', '--json')
  assert.deepEqual(JSON.parse(again.stdout), { rows: {} })
})

/** A service with one request whose body is not finished; `answered` rejects when it is cut off. */
async function withRequestInFlight(t: TestContext) {
  const key = newKey()
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
