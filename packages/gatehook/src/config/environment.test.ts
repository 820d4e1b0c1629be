/** The master secret's file: made once, kept private, shared by processes that start at once. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { systemRandom } from '../kernel/random.ts'
import { ConfigError, loadConfig } from './config.ts'
import { dataFolder, masterSecret, secretFile } from './environment.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehook-config-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const sqliteIn = (path: string) =>
  loadConfig({ GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'data', 'g.db')}` })

test('the secret is made beside the database, for this user only, and stays the same', (t) => {
  const config = sqliteIn(folder(t))
  const secret = masterSecret(config, systemRandom())
  assert.match(secret, /^[\w-]{43}$/)
  const file = secretFile(config)!
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(readFileSync(file, 'utf8'), `${secret}\n`)
  assert.equal(masterSecret(config, systemRandom()), secret)
  assert.deepEqual(readdirSync(dataFolder(config)!), ['secret.key'], 'no draft is left')
})

test('GATEHOOK_SECRET_KEY comes first and no file is made', (t) => {
  const path = folder(t)
  const secretKey = 'k'.repeat(40)
  const config = { ...sqliteIn(path), secretKey }
  assert.equal(masterSecret(config, systemRandom()), secretKey)
  assert.deepEqual(readdirSync(path), [])
})

test('a secret that was cut short is refused, not replaced', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'secret.key'), 'short\n')
  const config = loadConfig({ GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'g.db')}` })
  assert.throws(
    () => masterSecret(config, systemRandom()),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /secret\.key holds 5 characters; expected at least 32/)
      return true
    },
  )
  assert.equal(readFileSync(join(path, 'secret.key'), 'utf8'), 'short\n')
})

test('a data folder that is a file is one sentence', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'data'), '')
  assert.throws(
    () => masterSecret(sqliteIn(path), systemRandom()),
    (error) =>
      error instanceof ConfigError && /cannot be used: a part of the path/.test(error.message),
  )
})

test('processes that start at once agree', async (t) => {
  const path = folder(t)
  const script = `
    const { readConfig, masterSecret } = await import(${JSON.stringify(
      new URL('environment.ts', import.meta.url).href,
    )})
    const { systemRandom } = await import(${JSON.stringify(
      new URL('../kernel/random.ts', import.meta.url).href,
    )})
    console.log(masterSecret(readConfig(), systemRandom()))`
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'data', 'g.db')}` }
  const runs = Array.from({ length: 4 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env }),
  )
  const secrets = new Set((await Promise.all(runs)).map(({ stdout }) => stdout))
  assert.equal(secrets.size, 1)
  assert.match([...secrets][0]!, /^[\w-]{43}\n$/)
  assert.deepEqual(readdirSync(join(path, 'data')), ['secret.key'])
})
