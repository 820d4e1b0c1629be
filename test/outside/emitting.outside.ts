/**
 * docs/guides/only-webhooks.md from an empty folder to the verified webhook (§17.2), with Express,
 * `pg` and `gatehook-receiver`; the stopwatch is the diagnostic of the test.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import pg from 'pg'
import { cleanEnv, gatehookWith } from '../docs/process.ts'
import { emptyFolder, onEnd } from '../rig/cleanup.ts'
import { startPostgres } from '../rig/postgres.ts'
import { installFrameworks, startApplication, writePage } from './application.ts'
import { environment, output } from './stage.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'packages/gatehook/bin/gatehook.cjs')
const TABLE = `CREATE ROLE app_rw LOGIN PASSWORD 'app';
  CREATE TABLE invoices (id text PRIMARY KEY, organization text NOT NULL, total_cents int NOT NULL,
    status text NOT NULL DEFAULT 'open');
  GRANT ALL ON invoices TO app_rw`
const COUNT = "SELECT id FROM gatehook.gh_events WHERE type = 'invoice.paid'"

test('an application in Express emits in its transaction, and a webhook arrives', async (t) => {
  const startMs = performance.now()
  const folder = emptyFolder(t)
  writePage(folder, 'docs/guides/only-webhooks.md')
  await installFrameworks(folder)
  symlinkSync(join(ROOT, 'packages/receiver'), join(folder, 'node_modules/gatehook-receiver'))
  const server = await startPostgres()
  onEnd(t, () => server.stop())
  const query = async (text: string) => {
    const client = new pg.Client(server.url)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  await query(TABLE)
  await query(readFileSync(join(folder, 'roles.sql'), 'utf8'))
  const urlOf = (user: string, password: string) => {
    const url = new URL(server.url)
    url.username = user
    url.password = password
    return url.href
  }
  const env = {
    GATEHOOK_DATABASE_URL: urlOf('gatehook', 'change-me'),
    GATEHOOK_DATABASE_SCHEMA: 'gatehook',
    GATEHOOK_DATABASE_OWNER: 'gatehook_owner',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
  }
  const service = join(folder, 'gatehook')
  await gatehookWith(env, 'migrate', '--dir', service)
  const grant = ['--grant', 'gatehook_emit', '--all-customers', '--mode', 'live']
  await gatehookWith(env, 'outbox', 'install', '--dir', service, ...grant)
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const options =
    '--noEmit --strict --skipLibCheck --target es2023 --module nodenext ' +
    `--allowImportingTsExtensions --types node --typeRoots ${join(ROOT, 'node_modules/@types')}`
  const place = environment(dirname(process.execPath))
  await output(folder, place, tsc, ...options.split(' '), 'receiver.ts')
  const start = [process.execPath, MAIN, 'start', service, '--no-seed', '--port', 'PORT']
  const { url } = await startApplication(t, folder, start, () => env)
  const app = await startApplication(t, folder, [process.execPath, 'app.ts'], () => ({
    APP_URL: urlOf('app_rw', 'app'),
  }))
  const send = async (base: string, path: string, body: object, key?: string) => {
    const headers = { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) }
    const response = await fetch(base + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as { secret: string } }
  }
  const organization = { id: 'org_42', name: 'Org 42' }
  assert.equal((await send(app.url, '/organizations', organization)).status, 201)
  const scopes = ['--scopes', 'webhooks:read,webhooks:write,events:read']
  const named = ['--name', 'Org 42', '--customer', 'org_42', '--json']
  const created = await gatehookWith(env, 'keys', 'create', '--dir', service, ...named, ...scopes)
  // The address must answer at its registration, before the receiver has the secret.
  const program = [process.execPath, 'receiver.ts']
  const waiting = await startApplication(t, folder, program, () => ({}))
  const registration = { url: `${waiting.url}/acme`, events: ['invoice.paid'] }
  const hook = await send(url, '/webhooks', registration, JSON.parse(created).key)
  assert.equal(hook.status, 201, JSON.stringify(hook.body))
  await waiting.stop()
  const { port } = new URL(waiting.url)
  const receiver = spawn(process.execPath, ['receiver.ts'], {
    cwd: folder,
    env: { ...cleanEnv(), PORT: port, WEBHOOK_SECRET: hook.body.secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onEnd(t, async () => {
    receiver.kill('SIGKILL')
    await once(receiver, 'exit')
  })
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]()
  await query("INSERT INTO invoices VALUES ('inv_1', 'org_42', 1200), ('inv_2', 'org_none', 1)")
  // The customer is unknown, so that the call fails, and the invoice stays open with it.
  assert.equal((await fetch(`${app.url}/invoices/inv_2/pay`, { method: 'POST' })).status, 500)
  assert.equal((await send(app.url, '/invoices/inv_1/pay', {})).status, 200)
  const committedMs = performance.now()
  const { value } = await lines.next()
  const { type, object } = JSON.parse(value!)
  assert.deepEqual([type, object], ['invoice.paid', { id: 'inv_1', total_cents: 1200 }])
  const delayMs = Math.round(performance.now() - committedMs)
  const seconds = Math.round((performance.now() - startMs) / 1000)
  t.diagnostic(`${seconds} s from an empty folder; ${delayMs} ms from the response to the webhook`)
  assert.equal((await send(app.url, '/invoices/inv_1/pay', {})).status, 409)
  const open = await query("SELECT id FROM invoices WHERE status = 'open'")
  assert.deepEqual(open, [{ id: 'inv_2' }])
  assert.equal((await query(COUNT)).length, 1)
})
