/**
 * `npm run test:outside`: applications of the guides, with the real frameworks. Those of
 * docs/guides/only-keys.md verify keys (§17.3), those of docs/guides/mounted.md mount the engine
 * (§17.4). Needs the registries of npm and PyPI, and Python; without Go its recipe is skipped.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { startService } from '../docs/process.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import {
  hasGo,
  installFrameworks,
  installPython,
  reportGuide,
  startApplication,
  startStopwatch,
  writePage,
} from './application.ts'
import { assertMounted, postJson, startHost } from './mounted-engine.ts'
import { environment, output } from './stage.ts'

const folder = emptyFolder({ after })
let installedS = 0
const keysFolder = join(folder, 'keys')
const mountedFolder = join(folder, 'mounted')
const run = (...words: [string, ...string[]]) =>
  output(keysFolder, environment(dirname(process.execPath)), ...words)

/** Adds the seconds in a file to the clock of a process. */
const CLOCK = `import { readFileSync } from 'node:fs'
const now = Date.now
Date.now = () => now() + Number(readFileSync('clock', 'utf8')) * 1000
`
const setClock = (seconds: number) => writeFileSync(join(keysFolder, 'clock'), String(seconds))

async function buildGo(): Promise<void> {
  if (!hasGo) return
  await run('go', 'mod', 'init', 'reports')
  await run('go', 'build', '-o', 'reports', '.')
}

before(async () => {
  const seconds = startStopwatch()
  mkdirSync(mountedFolder)
  mkdirSync(keysFolder)
  writePage(keysFolder, 'docs/guides/only-keys.md')
  writeFileSync(join(keysFolder, 'clock.mjs'), CLOCK)
  writePage(mountedFolder, 'README.md')
  writePage(mountedFolder, 'docs/guides/mounted.md')
  await Promise.all([installFrameworks(folder), installPython(keysFolder), buildGo()])
  installedS = seconds()
})

test('a strict compiler accepts the middleware in each framework', async () => {
  const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc')
  const options =
    '--noEmit --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --skipLibCheck ' +
    '--target es2023 --module nodenext --allowImportingTsExtensions --types node'
  await run(tsc, ...options.split(' '), 'express.ts', 'fastify.ts', 'hono.ts')
})

interface VerifyingApplication {
  readonly words: readonly string[]
  /** A request that counts as `cost`, and its status for an active key. */
  readonly limited: readonly [method: string, cost: number, status: number]
  /** Whether it serves cached answers while the service is away. */
  readonly caches: boolean
}

const inNode = (file: string): VerifyingApplication => ({
  words: [process.execPath, '--import', './clock.mjs', file],
  limited: ['POST', 10, 202],
  caches: true,
})
const VERIFYING: Readonly<Record<string, VerifyingApplication>> = {
  Express: inNode('express.ts'),
  Fastify: inNode('fastify.ts'),
  Hono: inNode('hono.ts'),
  FastAPI: {
    words: ['venv/bin/uvicorn', 'main:app', '--port', 'PORT'],
    limited: ['GET', 1, 200],
    caches: false,
  },
  Go: { words: ['./reports'], limited: ['GET', 1, 200], caches: false },
}
const LIMIT = 20

/** Starts a service with the customer org_42, and an application beside it. */
async function openApplication(t: TestContext, words: readonly string[]) {
  setClock(0)
  const internal = `127.0.0.1:${await freePort()}`
  const options = { GATEHOOK_INTERNAL: internal, GATEHOOK_RATE_LIMIT: `${LIMIT}/60` }
  const service = await startService(t, join(keysFolder, 'gatehook'), ['reports:read'], options)
  const administer = async (method: string, path: string, members?: object) => {
    const response = await fetch(`${service.url}/admin/${path}`, {
      method,
      headers: { 'x-api-key': service.admin, 'content-type': 'application/json' },
      ...(members && { body: JSON.stringify(members) }),
    })
    const text = await response.text()
    assert.ok(response.ok, text)
    return (text === '' ? {} : JSON.parse(text)) as { id: string; key: string }
  }
  const createKey = (scopes: readonly string[], customer = 'org_42') =>
    administer('POST', 'keys', { name: 'Key', customer, scopes })
  await administer('POST', 'customers', { name: 'Org 42', external_id: 'org_42' })
  const { key } = await createKey(['keys:verify_all'], 'default')
  const own = { GATEHOOK_URL: `http://${internal}`, GATEHOOK_KEY: key }
  const application = await startApplication(t, keysFolder, words, () => own)
  const send = (key?: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${application.url}/reports`, {
      method,
      headers: { ...headers, ...(key !== undefined && { 'x-api-key': key }) },
    })
  const statusOf = async (...args: Parameters<typeof send>) => (await send(...args)).status
  return { service, administer, createKey, send, statusOf }
}

for (const [name, { words, limited, caches }] of Object.entries(VERIFYING)) {
  const skip = name === 'Go' && !hasGo && 'Go is not installed'
  test(`${name}: the recipe of the guide verifies keys`, { skip }, async (t) => {
    const seconds = startStopwatch()
    const { service, administer, createKey, send, statusOf } = await openApplication(t, words)
    const { key } = await createKey(['reports:read'])
    const reply = await send(key)
    assert.equal(reply.status, 200)
    assert.deepEqual(await reply.json(), { organization: 'org_42' })
    reportGuide(t, installedS, seconds)

    const revoked = await createKey(['reports:read'])
    await administer('DELETE', `keys/${revoked.id}`)
    const unknown = generateApiKey(systemRandom(), 'live')
    const narrow = await createKey(['reports:write'])
    assert.deepEqual(
      [await statusOf(revoked.key), await statusOf(unknown), await statusOf(narrow.key)],
      [403, 403, 403],
    )
    assert.deepEqual([await statusOf(), await statusOf('x'.repeat(9000))], [401, 401])

    const [method, cost, status] = limited
    const greedy = await createKey(['reports:read', 'reports:write'])
    for (let used = cost; used <= LIMIT; used += cost) {
      assert.equal(await statusOf(greedy.key, method), status)
    }
    const rejected = await send(greedy.key, method)
    assert.equal(rejected.status, 429)
    assert.ok(Number(rejected.headers.get('retry-after')) > 0)

    const unused = await createKey(['reports:read'])
    await service.stop()
    if (caches) {
      setClock(30)
      assert.equal(await statusOf(key), 200, 'the last active answer serves for 60 s')
      setClock(61)
    }
    const away = await send(key)
    assert.equal(away.status, 503)
    assert.equal(await statusOf(unused.key), 503)
    if (name !== 'Go') assert.equal(away.headers.get('retry-after'), '1')
  })
}

for (const name of ['express', 'fastify', 'hono']) {
  test(`${name}: the example of the guide mounts the engine`, async (t) => {
    const seconds = startStopwatch()
    const words = [process.execPath, '--no-warnings', `${name}.ts`]
    const application = await startHost(t, mountedFolder, words)
    const echo = await postJson(`${application.url}/echo`, { a: [1] })
    assert.equal(echo.status, 200)
    assert.deepEqual(await echo.json(), { a: [1] }, 'a route of the application reads its body')
    await assertMounted(application)
    reportGuide(t, installedS, seconds)
  })
}
