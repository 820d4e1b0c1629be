/**
 * The clients of the TypeScript and Python SDKs use the tools of a running service, and the
 * conformance suite of the Model Context Protocol sends its scenarios, those for authorization
 * servers, too. Needs npm, PyPI and Python; `JUDGES=mcp` selects it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { documentEnv, openDocumentHost } from '../../packages/gatehook/test/oauth/document-host.ts'
import { authorizeInBrowser } from '../oauth/browser.ts'
import { environment, npm, output } from '../outside/stage.ts'
import { emptyFolder, onEnd } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import { openService } from '../rig/service.ts'
import { converse } from './conversation.ts'
import { isSelected } from './selection.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const NODE = dirname(process.execPath)
const skip = isSelected('mcp') ? false : 'JUDGES selects others'
const folder = join(process.env.JUDGES_FOLDER ?? emptyFolder({ after }), 'mcp')

/** Scenarios that need no tool, resource or prompt of the suite's own server. */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'dns-rebinding-protection',
  'server-stateless',
  'http-header-validation',
  'input-required-result-unsupported-methods',
]
const SUITE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'

const PACKAGES = {
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
}

before(async () => {
  if (skip) return
  mkdirSync(folder, { recursive: true })
  const manifest = { private: true, type: 'module', dependencies: PACKAGES }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  await npm(folder, NODE, 'install')
  await output(folder, environment(NODE), 'python3', '-m', 'venv', 'venv')
  await output(folder, environment(NODE), 'venv/bin/pip', 'install', '--quiet', 'mcp==2.3.0')
  for (const file of ['mcp-client.ts', 'mcp_client.py', 'mcp-person.ts', 'mcp_person.py']) {
    cpSync(join(PROGRAMS, file), join(folder, file))
  }
})

const line = (revision: string) => ({ revision, tools: 4, operation: 'list_users', status: 200 })
const parseLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each))

test('the client of TypeScript connects from the bare URL', { skip }, async (t) => {
  const { app, as, key } = await openService(t, 'sqlite')
  const { url } = await app.listen()
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const resource = await admin.get('/.well-known/oauth-protected-resource/mcp')
  const { body: client } = await admin.post('/admin/clients', {
    name: 'Judge',
    scopes: resource.body.scopes_supported,
    redirect_uris: [],
    grant_types: ['client_credentials'],
  })
  const env = environment(NODE, { URL: url, ID: client.client_id, SECRET: client.client_secret })
  const text = await output(folder, env, process.execPath, 'mcp-client.ts')
  assert.deepEqual(parseLines(text), [line('2025-11-25'), line('2026-07-28')])
})

test('the client of Python calls a tool', { skip }, async (t) => {
  const { app, key } = await openService(t, 'sqlite')
  const { url } = await app.listen()
  const env = environment(NODE, { URL: url, KEY: await key() })
  const text = await output(folder, env, join(folder, 'venv/bin/python'), 'mcp_client.py')
  assert.deepEqual(parseLines(text), [line('2026-07-28')])
})

const credentials = { username: 'ada@example.com', password: 'correct horse battery' }
const CALLBACK = 'http://127.0.0.1:9/callback'
const PERSON_PROGRAMS = {
  TypeScript: [process.execPath, 'mcp-person.ts'],
  Python: [join(folder, 'venv/bin/python'), 'mcp_person.py'],
} as const

/** Starts a service with a person, an order of the person, and what administers it. */
async function openPersonService(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const { app, as, key } = await openService(t, 'sqlite', { env })
  const { url } = await app.listen()
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const scopes = ['users:read', 'orders:read', 'orders:write', 'orders:fulfil']
  const { username: email, password } = credentials
  const person = (await admin.post('/admin/users', { name: 'Ada', email, password, scopes })).body
  const order = async () => {
    const { post } = as(await key({ scopes, mode: 'live' }))
    const members = { user_id: person.id, amount: 5, currency: 'EUR' }
    const { id } = (await post('/api/v2/orders', members)).body
    assert.equal((await post(`/api/v2/orders/${id}/pay`)).status, 200)
    return id
  }
  const run = (language: keyof typeof PERSON_PROGRAMS, more: Readonly<Record<string, string>>) =>
    converse(
      PERSON_PROGRAMS[language],
      { cwd: folder, env: environment(NODE, { URL: url, CALLBACK, ...more }) },
      credentials,
    )
  return { url, as, admin, scopes, order, run }
}

for (const language of ['TypeScript', 'Python'] as const) {
  test(`the client of ${language} describes itself by a document`, { skip }, async (t) => {
    const host = await openDocumentHost(t)
    const DOCUMENT = host.document({ redirect_uris: [CALLBACK] })
    const { run } = await openPersonService(t, documentEnv)
    const { results, pages, errors } = await run(language, { DOCUMENT, OPERATION: 'list_orders' })
    assert.equal(results.status, 200, errors)
    assert.equal(pages.length, 1)
    assert.equal(pages[0]!.searchParams.get('client_id'), DOCUMENT)
    assert.deepEqual(host.requests, ['/client.json'])
  })

  test(`the client of ${language} requests a scope that it lacks`, { skip }, async (t) => {
    const { admin, scopes, order, run } = await openPersonService(t)
    const members = { name: 'Agent', redirect_uris: [CALLBACK], public: true, scopes }
    const { client_id: ID } = (await admin.post('/admin/clients', members)).body
    const PARAMETERS = JSON.stringify({ id: await order() })
    const { results, pages, errors } = await run(language, {
      ID,
      PARAMETERS,
      OPERATION: 'ship_order',
    })
    assert.equal(results.status, 200, errors)
    assert.ok(String(results.scope).split(' ').includes('orders:fulfil'), String(results.scope))
    const requested = pages.map(({ searchParams }) => searchParams.get('scope')!.split(' '))
    assert.deepEqual(
      requested.map((names) => names.includes('orders:fulfil')),
      [false, true],
    )
    assert.ok(
      requested[0]!.every((name) => requested[1]!.includes(name)),
      String(requested),
    )
  })
}

test('the client of Python with a token alone reads which scope it lacks', { skip }, async (t) => {
  const { url, as, admin, run } = await openPersonService(t)
  const members = { name: 'Program', redirect_uris: [], scopes: ['orders:read'] }
  const { client_id, client_secret } = (await admin.post('/admin/clients', members)).body
  const grant = { grant_type: 'client_credentials', client_id, client_secret }
  const fields = new URLSearchParams({ ...grant, resource: `${url}/mcp` })
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const { body } = await as(undefined).post('/oauth/token', fields.toString(), type)
  const { results, errors } = await run('Python', {
    TOKEN: body.access_token,
    OPERATION: 'list_users',
  })
  assert.equal(results.message, 'The credential lacks the scope users:read.', errors)
  const { error, scope } = results.data as Record<string, unknown>
  assert.deepEqual([error, scope], ['insufficient_scope', 'users:read'])
})

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** Runs a command of the suite; returns its checks, and why those failed that it could perform. */
async function judge(t: TestContext, words: readonly string[], onOutput = (_: string) => {}) {
  const results = emptyFolder(t)
  const args = [SUITE, ...words, '--output-dir', results]
  const suite = spawn(process.execPath, args, { cwd: folder, env: environment(NODE) })
  const lines: string[] = []
  for (const stream of [suite.stdout, suite.stderr]) {
    stream.on('data', (chunk) => {
      lines.push(String(chunk))
      onOutput(String(chunk))
    })
  }
  await once(suite, 'exit')
  const files = globSync('**/checks.json', { cwd: results })
  const checks: Check[] = files.flatMap((file) =>
    JSON.parse(readFileSync(join(results, file), 'utf8')),
  )
  assert.ok(
    checks.some(({ status }) => status === 'SUCCESS'),
    lines.join(''),
  )
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, errorMessage }) => `${id}: ${errorMessage}`)
    .filter((failure) => !failure.includes('Not testable: server does not list the diagnostic'))
}

/** Adds a key to requests: the suite sends none of its own. */
async function openGate(t: TestContext, port: number, key: string): Promise<string> {
  const gate = createServer((incoming, response) => {
    const { method, url: path, headers } = incoming
    const sent = { port, method, path, headers: { ...headers, 'x-api-key': key } }
    const forwarded = request(sent, (reply) => {
      response.writeHead(reply.statusCode!, reply.headers)
      reply.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => void gate.close().closeAllConnections())
  return `http://localhost:${(gate.address() as AddressInfo).port}/mcp`
}

for (const scenario of SCENARIOS) {
  test(`the conformance suite passes ${scenario}`, { skip }, async (t) => {
    const { app, key } = await openService(t, 'sqlite')
    const { port } = await app.listen()
    const address = await openGate(t, port, await key())
    assert.deepEqual(await judge(t, ['server', '--url', address, '--scenario', scenario]), [])
  })
}

test('the conformance suite passes its part for authorization servers', { skip }, async (t) => {
  const { app, as, key } = await openService(t, 'sqlite')
  const { url } = await app.listen()
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const { username: email, password } = credentials
  await admin.post('/admin/users', { name: 'Ada', email, password })
  const port = String(await freePort())
  const { body: client } = await admin.post('/admin/clients', {
    name: 'Judge',
    scopes: ['orders:read'],
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    public: true,
  })
  const words = ['authorization', '--url', url, '--client-id', client.client_id, '--port', port]
  const consents: Promise<unknown>[] = []
  const failures = await judge(t, [...words, '--resource', `${url}/mcp`], (text) => {
    const [address] = /http\S+\/oauth\/authorize\?\S+/.exec(text) ?? []
    if (address) consents.push(authorizeInBrowser(new URL(address), credentials).then(fetch))
  })
  assert.equal((await Promise.all(consents)).length, 1)
  assert.deepEqual(failures, [])
})
