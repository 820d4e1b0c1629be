/**
 * `npm run test:outside`: the applications of docs/guides/in-front-of.md, unchanged, with the real
 * frameworks behind the service (§17.5). Needs the registries of npm and PyPI, and Python; without
 * Go its application is skipped.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { gatehook, startService } from '../docs/process.ts'
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
import { environment, output } from './stage.ts'

const folder = emptyFolder({ after })
let installedS = 0
const SCOPES = ['invoices:read', 'invoices:write']

async function buildGo(): Promise<void> {
  if (!hasGo) return
  const inApp = (...words: [string, ...string[]]) =>
    output(join(folder, 'app'), environment(dirname(process.execPath)), ...words)
  await inApp('go', 'mod', 'init', 'invoices')
  await inApp('go', 'build', '-o', '../invoices', '.')
}

before(async () => {
  const seconds = startStopwatch()
  writePage(folder, 'docs/guides/in-front-of.md')
  await Promise.all([installFrameworks(folder), installPython(folder), buildGo()])
  installedS = seconds()
})

const APPLICATIONS: Readonly<Record<string, readonly string[]>> = {
  FastAPI: ['venv/bin/uvicorn', 'main:app', '--port', 'PORT'],
  Django: ['venv/bin/uvicorn', 'django_app:app', '--port', 'PORT', '--lifespan', 'off'],
  Express: [process.execPath, 'app.mjs'],
  Go: ['./invoices'],
}

/** Starts an application, and the service of a folder in front of it. */
async function openFront(t: TestContext, words: readonly string[], service = 'gatehook') {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const application = await startApplication(t, folder, words, () => ({
    GATEHOOK_ASSERTION_JWKS: `${url}/.well-known/assertion-jwks.json`,
    GATEHOOK_ASSERTION_ISS: `${url}/assertions`,
  }))
  const options = { BILLING_URL: application.url, GATEHOOK_PUBLIC_URL: url }
  const flags = ['--no-seed', '--port', String(port)]
  const { key } = await startService(t, join(folder, service), SCOPES, options, flags)
  const send = (method: string, path: string, body?: object, more: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...more },
      ...(body && { body: JSON.stringify(body) }),
    })
  return { application, url, send }
}

for (const [name, words] of Object.entries(APPLICATIONS)) {
  const skip = name === 'Go' && !hasGo && 'Go is not installed'
  test(`${name}: keys, versions and repeats stand before an unchanged application`, {
    skip,
  }, async (t) => {
    const seconds = startStopwatch()
    const { application, url, send } = await openFront(t, words)
    assert.equal((await fetch(`${url}/api/v2/invoices/7`)).status, 401)
    const read = await send('GET', '/api/v2/invoices/7', undefined, { 'x-request-id': 'mine' })
    const note = name === 'FastAPI' ? 'cus_default' : 'mine'
    assert.deepEqual([read.status, await read.json()], [200, { id: 7, total_cents: 4950, note }])
    const older = await send('GET', '/api/v1/invoices/7', undefined, { 'x-request-id': 'mine' })
    assert.deepEqual(await older.json(), { id: 7, total: 49.5, note })
    reportGuide(t, installedS, seconds)
    assert.equal((await send('HEAD', '/api/v2/invoices/7')).status, 200)
    assert.equal((await send('GET', '/api/v2/invoices/7?other=1')).status, 400)
    assert.equal((await send('GET', '/api/v2/invoices/%2e%2e')).status, 404)

    const repeat = { 'idempotency-key': 'k' }
    for (const replayed of [null, 'true']) {
      const created = await send('POST', '/api/v2/invoices', { total_cents: 1 }, repeat)
      assert.deepEqual(
        [
          created.status,
          created.headers.get('location'),
          created.headers.get('idempotent-replayed'),
        ],
        [201, '/api/v2/invoices/7', replayed],
      )
      assert.equal(((await created.json()) as { total_cents: number }).total_cents, 1)
    }
    assert.equal((await send('POST', '/api/v2/invoices', { total_cents: -1 })).status, 422)

    if (name === 'FastAPI') {
      // The application rejects a request without an assertion.
      assert.equal((await fetch(`${application.url}/invoices/7`)).status, 401)
    }
    await application.stop()
    const away = await send('GET', '/api/v2/invoices/7')
    assert.deepEqual(
      [away.status, ((await away.json()) as { error: string }).error],
      [502, 'upstream_unreachable'],
    )
  })
}

/** Returns the document of an application: FastAPI writes its own. */
async function readDocument(name: string): Promise<string> {
  const own = join(folder, 'invoices.openapi.json')
  if (name !== 'FastAPI') return readFileSync(own, 'utf8')
  const script = 'import json, main; print(json.dumps(main.app.openapi()))'
  const variables = { GATEHOOK_ASSERTION_JWKS: 'http://127.0.0.1/', GATEHOOK_ASSERTION_ISS: 'x' }
  const env = environment(dirname(process.execPath), variables)
  return output(folder, env, 'venv/bin/python', '-c', script)
}

for (const name of ['FastAPI', 'Express', 'Go']) {
  const skip = name === 'Go' && !hasGo && 'Go is not installed'
  test(`${name}: the document of the application becomes routes`, { skip }, async (t) => {
    const seconds = startStopwatch()
    const imported = `imported-${name}`
    mkdirSync(join(folder, imported))
    const service = readFileSync(join(folder, 'gatehook/service.ts'), 'utf8')
    const base = service
      .replace(/ {2}\.forward[\s\S]*$/, '')
      .replace('export const api =', 'const base =')
    writeFileSync(
      join(folder, imported, 'service.ts'),
      `import { billing } from './billing.ts'\n${base}\nexport const api = billing(base)\n`,
    )
    const document = join(folder, imported, 'openapi.json')
    writeFileSync(document, await readDocument(name))
    const out = join(folder, imported, 'billing.ts')
    const words = ['forward', 'import', document, '--to', 'billing', '--out', out]
    assert.match(await gatehook(...words), /billing\(api\) with 2 operations/)
    assert.match(await gatehook(...words), /The document has not changed/)
    const { send } = await openFront(t, APPLICATIONS[name]!, imported)
    const own = { 'x-request-id': 'mine' }
    const read = await send('GET', '/api/v2/invoices/7', undefined, own)
    const note = name === 'FastAPI' ? 'cus_default' : 'mine'
    assert.deepEqual(await read.json(), { id: 7, total_cents: 4950, note })
    reportGuide(t, installedS, seconds)
    const created = await send('POST', '/api/v2/invoices', { total_cents: 3 })
    assert.deepEqual([created.status, created.headers.get('location')], [201, '/api/v2/invoices/7'])
  })
}
