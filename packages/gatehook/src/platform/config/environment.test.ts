/** The file of the master secret: created once, private, shared by concurrent processes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type Random, systemRandom } from '../../kernel/random.ts'
import { keyIdOf } from '../../kernel/secret.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import {
  dataFolder,
  ensureMasterSecrets,
  makeDataFolder,
  readMasterSecrets,
  secretFile,
} from './environment.ts'
import { removePreviousSecret, replaceSecretFile } from './secret-files.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehook-config-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const sqliteIn = (path: string) =>
  loadConfig({ GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'data', 'g.db')}` })

/** Returns the secret as the first start does. */
function masterSecret(config: Config, random: Random): string {
  makeDataFolder(config)
  return ensureMasterSecrets(config, random)[0]!
}

test('the secret is created beside the database with mode 0600, once', (t) => {
  const config = sqliteIn(folder(t))
  const secret = masterSecret(config, systemRandom())
  assert.match(secret, /^[\w-]{43}$/)
  const file = secretFile(config)!
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(readFileSync(file, 'utf8'), `${secret}\n`)
  assert.equal(masterSecret(config, systemRandom()), secret)
  assert.deepEqual(readdirSync(dataFolder(config)!), ['g.db', 'secret.key'], 'no draft is left')
})

test('a first start that ended after the secret is repeated, a lost database is refused', (t) => {
  const config = sqliteIn(folder(t))
  const secret = masterSecret(config, systemRandom())
  assert.equal(masterSecret(config, systemRandom()), secret)
  rmSync(join(dataFolder(config)!, 'g.db'))
  assert.throws(() => masterSecret(config, systemRandom()), ConfigError)
})

test('with GATEHOOK_SECRET_KEY, no file is created', (t) => {
  const path = folder(t)
  const secretKey = 'k'.repeat(40)
  const config = { ...sqliteIn(path), secretKey }
  assert.deepEqual(ensureMasterSecrets(config, systemRandom()), [secretKey])
  assert.deepEqual(readdirSync(path), [])
})

test('a truncated secret is rejected and not replaced', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'secret.key'), 'short\n')
  writeFileSync(join(path, 'g.db'), '')
  const config = loadConfig({ GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'g.db')}` })
  assert.throws(
    () => masterSecret(config, systemRandom()),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /secret\.key contains 5 characters; expected at least 32/)
      return true
    },
  )
  assert.equal(readFileSync(join(path, 'secret.key'), 'utf8'), 'short\n')
})

test('a data folder that is a file is a ConfigError', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'data'), '')
  assert.throws(
    () => masterSecret(sqliteIn(path), systemRandom()),
    (error) =>
      error instanceof ConfigError && /cannot be used: it is not a folder/.test(error.message),
  )
})

test('concurrent processes use the same secret', async (t) => {
  const path = folder(t)
  const script = `
    const { readConfig, makeDataFolder, ensureMasterSecrets } = await import(${JSON.stringify(
      new URL('environment.ts', import.meta.url).href,
    )})
    const { systemRandom } = await import(${JSON.stringify(
      new URL('../../kernel/random.ts', import.meta.url).href,
    )})
    makeDataFolder(readConfig())
    console.log(ensureMasterSecrets(readConfig(), systemRandom())[0])`
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(path, 'data', 'g.db')}` }
  const runs = Array.from({ length: 4 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env }),
  )
  const secrets = new Set((await Promise.all(runs)).map(({ stdout }) => stdout))
  assert.equal(secrets.size, 1)
  assert.match([...secrets][0]!, /^[\w-]{43}\n$/)
  assert.deepEqual(readdirSync(join(path, 'data')), ['g.db', 'secret.key'])
})

test('a rotation that is interrupted at any moment can be completed', (t) => {
  const random = systemRandom()
  const config = sqliteIn(folder(t))
  const old = masterSecret(config, random)
  const file = secretFile(config)!
  // A crash before the rename leaves the draft, the link and the old secret.
  writeFileSync(`${file}.next`, 'a draft that was cut', { mode: 0o600 })
  writeFileSync(`${file}.previous`, `${old}\n`, { mode: 0o600 })
  assert.deepEqual(readMasterSecrets(config), [old])
  const replaced = replaceSecretFile(file, keyIdOf(old), random)
  assert.equal(replaced[1], old)
  assert.notEqual(replaced[0], old)
  assert.deepEqual(readMasterSecrets(config), replaced)
  for (const path of [file, `${file}.previous`]) assert.equal(statSync(path).mode & 0o777, 0o600)
  // After a crash that follows the rename, the replacement is complete.
  assert.deepEqual(replaceSecretFile(file, keyIdOf(old), random), replaced)
  removePreviousSecret(file)
  assert.deepEqual(readMasterSecrets(config), [replaced[0]])
  assert.deepEqual(readdirSync(dataFolder(config)!), ['g.db', 'secret.key'])
  assert.throws(() => replaceSecretFile(file, keyIdOf(old), random), /was replaced meanwhile/)
})

test('a second rotation replaces the previous secret', (t) => {
  const random = systemRandom()
  const config = sqliteIn(folder(t))
  const first = masterSecret(config, random)
  const [second] = replaceSecretFile(secretFile(config)!, keyIdOf(first), random)
  const third = replaceSecretFile(secretFile(config)!, keyIdOf(second!), random)
  assert.deepEqual([third.length, third[1]], [2, second])
  assert.ok(!third.includes(first))
})
