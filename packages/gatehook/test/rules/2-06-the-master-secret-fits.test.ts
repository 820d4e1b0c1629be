/** §2.6 note 2: a node whose master secret does not match the database exits with 78. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { ConfigError } from '../../src/platform/config/config.ts'
import { gatehook, jsonOf, sentencesOf } from '../cli/command.ts'
import { asBefore, NEW, NEW_ID, nodesOn, OLD, OLD_ID } from '../secrets/rotation.ts'

const SENTENCE = /^The master secret does not fit the database[^\n]*\.$/

/** Asserts that each command that opens the database fails with one sentence. */
async function assertRefused(place: { cwd: string; env?: Record<string, string> }) {
  for (const args of [
    ['start', '--port', '0'],
    ['keys', 'list'],
    ['secrets', 'rotate'],
  ]) {
    const { exit, stdout, stderr } = await gatehook(place, ...args)
    assert.deepEqual([exit, stdout], [78, ''], `${args}: ${stderr}`)
    assert.match(sentencesOf({ stderr }).join('\n'), SENTENCE, String(args))
  }
  const doctor = await gatehook(place, 'doctor')
  assert.equal(doctor.exit, 1)
  assert.match(doctor.stdout, /master secret +fail +The master secret does not fit the database/)
}

test('a deleted secret.key is an error, and no new one is created', async (t) => {
  const cwd = emptyFolder(t)
  const file = join(cwd, 'data', 'secret.key')
  await gatehook({ cwd }, 'migrate')
  const secret = readFileSync(file, 'utf8')
  rmSync(file)
  await assertRefused({ cwd })
  assert.equal(existsSync(file), false)
  writeFileSync(file, `${'another secret '.repeat(3)}\n`)
  await assertRefused({ cwd })
  writeFileSync(file, secret)
  await jsonOf({ cwd }, 'keys', 'list')
})

test('another secret on PostgreSQL is rejected', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const env = { GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: OLD }
  const place = { cwd: emptyFolder(t), env }
  await gatehook(place, 'migrate')
  await assertRefused({ ...place, env: { ...env, GATEHOOK_SECRET_KEY: NEW } })
  await jsonOf(place, 'keys', 'list')
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`in a database of an earlier release, values identify the secret [${kind}]`, async (t) => {
    const open = await nodesOn(t, kind)
    const first = await open(OLD)
    await asBefore(first.app.db, OLD)
    await assert.rejects(open(NEW), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /encrypted under another .*\(GATEHOOK_SECRET_KEY is key/)
      return true
    })
    const upgraded = await open(NEW, OLD)
    assert.equal((await upgraded.app.secrets.status()).key_id, OLD_ID)
    const named = /does not fit .* under key .*GATEHOOK_SECRET_KEY_PREVIOUS\./
    await assert.rejects(open(NEW), named)
  })

  test(`of two first starts with different secrets, one fails [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const starts = [OLD, NEW].map((secret) =>
      openService(t, kind, { url, env: { GATEHOOK_SECRET_KEY: secret } }),
    )
    const ends = await Promise.allSettled(starts)
    const refused = ends.filter((end) => end.status === 'rejected')
    assert.equal(refused.length, 1)
    assert.ok(refused[0]!.reason instanceof ConfigError, String(refused[0]!.reason))
    const [started] = ends.filter((end) => end.status === 'fulfilled')
    const { key_id } = await started!.value.app.secrets.status()
    assert.ok([OLD_ID, NEW_ID].includes(key_id))
  })
}
