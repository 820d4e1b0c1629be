/**
 * The clients of the TypeScript and Python SDKs use the tools of a running service, and the
 * conformance suite of the Model Context Protocol sends its scenarios. Needs npm, PyPI and Python;
 * `JUDGES=mcp` selects it.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { environment, npm, output } from '../outside/stage.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { openService } from '../rig/service.ts'
import { isSelected } from './selection.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const NODE = dirname(process.execPath)
const skip = isSelected('mcp') ? false : 'JUDGES selects others'
const folder = join(process.env.JUDGES_FOLDER ?? emptyFolder({ after }), 'mcp')

/** Scenarios that need no tool, resource or prompt of the suite's own server. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

const PACKAGES = {
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/conformance': '0.1.16',
}

before(async () => {
  if (skip) return
  mkdirSync(folder, { recursive: true })
  const manifest = { private: true, type: 'module', dependencies: PACKAGES }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  await npm(folder, NODE, 'install')
  await output(folder, environment(NODE), 'python3', '-m', 'venv', 'venv')
  await output(folder, environment(NODE), 'venv/bin/pip', 'install', '--quiet', 'mcp==2.3.0')
  for (const file of ['mcp-client.ts', 'mcp_client.py']) {
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

for (const scenario of SCENARIOS) {
  test(`the conformance suite passes ${scenario}`, { skip }, async (t) => {
    const { app, key } = await openService(t, 'sqlite')
    const { port } = await app.listen()
    // The suite sends no headers of its own.
    const address = `http://localhost:${port}/mcp?api_key=${await key()}`
    const main = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
    const words = ['server', '--url', address, '--scenario', scenario]
    await output(folder, environment(NODE), process.execPath, main, ...words)
  })
}
