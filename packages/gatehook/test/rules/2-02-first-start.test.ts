/** §2.2: without a terminal, JSON lines without secrets; sample data on the first start. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { gatehook } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

test('without a terminal, the log is JSON lines without secrets', async (t) => {
  const cwd = emptyFolder(t)
  const key = generateApiKey(systemRandom(), 'live')
  const run = await serving(t, { cwd, env: { GATEHOOK_BOOTSTRAP_KEY: key } })
  const { url } = run
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.ok(
    run.lines.some((line) => /^engine migrated to \d+/.test(String(line.msg))),
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

test('the first start loads sample data unless --no-seed; seed loads it later', async (t) => {
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
