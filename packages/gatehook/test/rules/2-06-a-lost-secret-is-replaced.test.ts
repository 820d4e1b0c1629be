/** §2.6, §13: without its master secret a database is usable after `gatehook secrets reset`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { allEncrypted } from '../../src/assembly/secrets.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { NEW, OLD } from '../secrets/rotation.ts'

const key = generateApiKey(systemRandom(), 'live')

/** The places of an installation before and after the loss of its secret. */
async function places(t: TestContext, kind: 'sqlite' | 'postgres') {
  const cwd = emptyFolder(t)
  const env = { GATEHOOK_BOOTSTRAP_KEY: key, GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
  if (kind === 'sqlite') {
    const place: Place = { cwd, env }
    const url = `sqlite:${join(cwd, 'data/gatehook.db')}`
    return { before: place, after: place, url, lose: () => rmSync(join(cwd, 'data/secret.key')) }
  }
  const url = await freshUrl(t, 'postgres')
  const place = (secret: string): Place => ({
    cwd,
    env: { ...env, GATEHOOK_DATABASE_URL: url, GATEHOOK_SECRET_KEY: secret },
  })
  return { before: place(OLD), after: place(NEW), url, lose: () => undefined }
}

const send = (url: string, method: string, path: string, body?: object, headers = {}) =>
  fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`rows, keys and webhooks outlive a lost secret [${kind}]`, async (t) => {
    const { before, after, url, lose } = await places(t, kind)
    const service = await serving(t, before, '--no-seed')
    const user = { name: 'Ada', email: 'ada@example.com' }
    const keyed = { 'idempotency-key': 'once' }
    assert.equal((await send(service.url, 'POST', '/api/v2/users', user, keyed)).status, 201)
    const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
    onEnd(t, () => receiver.close())
    await once(receiver, 'listening')
    const { port } = receiver.address() as AddressInfo
    const hook = { url: `http://127.0.0.1:${port}/`, events: ['order.created'] }
    const created = await send(service.url, 'POST', '/webhooks', hook)
    assert.equal(created.status, 201, await created.clone().text())
    const { id } = (await created.json()) as { id: string }
    const nodesRun = await gatehook(after, 'secrets', 'reset', '--force')
    service.kill('SIGTERM')
    await service.ended
    lose()

    const refused = await gatehook(after, 'keys', 'list')
    assert.equal(refused.exit, 78, 'the loss is noticed')
    assert.equal((await gatehook(after, 'secrets', 'reset')).exit, 2, 'it needs --force')
    // On SQLite a running service has the file: nothing is lost then.
    assert.equal(nodesRun.exit, kind === 'sqlite' ? 78 : 75, nodesRun.stderr)
    const done = await jsonOf(after, 'secrets', 'reset', '--force')
    assert.equal(done.values['gh_signing_keys.encrypted_private_jwk'], 1)
    assert.equal(done.values['gh_webhook_secrets.encrypted'], 1)

    const again = await serving(t, after, '--no-seed')
    const list = await send(again.url, 'GET', '/api/v2/users')
    assert.equal(list.status, 200, 'keys and rows stay')
    assert.equal(((await list.json()) as { data: unknown[] }).data.length, 1)
    const repeat = await send(again.url, 'POST', '/api/v2/users', user, keyed)
    assert.equal(repeat.status, 422, 'a repeated request never runs twice')
    const rotated = await send(again.url, 'POST', `/webhooks/${id}/rotate-secret`, {})
    assert.equal(rotated.status, 200, await rotated.text())
    const { exit } = await gatehook(after, 'audit', 'verify')
    assert.equal(exit, 0, 'the chain begins again')
    const { values } = await jsonOf(after, 'secrets', 'status')
    const unreadable = values.filter(
      (row: { key_id: string | null; count: number }) => row.key_id === null && row.count > 0,
    )
    assert.deepEqual(unreadable, [])
    const db = await openForTest(t, url)
    const [row] = await db.all(sql`SELECT target FROM gh_audit
      WHERE action = 'master_secret.reset'`)
    assert.equal(row!.target, done.key_id)
    const fits = await gatehook(after, 'secrets', 'reset', '--force')
    assert.equal(fits.exit, 78)
    assert.match(fits.stderr, /fits/)
  })
}

test('a reset reports each encrypted column', () => {
  const names = allEncrypted.map(({ table, column }) => `${table}.${column}`)
  assert.equal(new Set(names).size, names.length)
})
