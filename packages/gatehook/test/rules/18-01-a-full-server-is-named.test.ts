/** §18.1: nodes that run name a server that has no connection left for those that start. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import {
  createDatabase,
  queryAsAdmin,
  startPostgres,
  withName,
} from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createFullServer } from '../../src/operate/system/full-server.ts'
import { adminOf } from '../monitoring/admin.ts'

const CONNECTIONS_MAX = 40
/** Of superusers. */
const RESERVED = 3

/** Takes all connections that a server has left. */
async function fill(t: TestContext, connectionString: string) {
  for (let n = 0; n < CONNECTIONS_MAX; n++) {
    const client = new pg.Client({ connectionString, application_name: 'report' })
    client.on('error', () => undefined)
    const isOpen = await client.connect().then(
      () => true,
      () => false,
    )
    if (!isOpen) return
    onEnd(t, () => client.end())
  }
}

test('attention, readiness and metrics name a full server and its largest program', async (t) => {
  const server = await startPostgres(['fsync=off', `max_connections=${CONNECTIONS_MAX}`])
  onEnd(t, () => server.stop())
  const url = await createDatabase(server.url)
  const node = await openService(t, 'postgres', { url })
  const admin = await adminOf(node)
  await node.app.work()
  assert.doesNotMatch((await node.get('/readyz')).text, /"connections"/)
  await fill(t, url)
  const readItems = async () => {
    const { status, body } = await admin.get('/admin/attention')
    assert.equal(status, 200)
    return body.data.filter(({ kind }: { kind: string }) => kind === 'database_full')
  }
  const [item] = await eventually(readItems, ({ length }) => length === 1)
  const { used, limit, application, of_application } = item.facts
  assert.deepEqual([limit, application], [CONNECTIONS_MAX - RESERVED, 'report'])
  assert.ok(used >= limit && of_application > 0 && of_application <= used)
  const probe = await node.as(undefined).get('/readyz')
  assert.equal(probe.status, 200, 'the open connections serve')
  assert.match(probe.text, /"check":"connections","message":"The server of the database has no/)
  assert.doesNotMatch(probe.text, /report/, 'any caller reads probes')
  assert.match((await node.get('/metrics')).text, /gatehook_database_connections_left 0\n/)
})

test('limits of the role and of the database are named, with the statement', async (t) => {
  const server = await startPostgres(['fsync=off'])
  onEnd(t, () => server.stop())
  const run = (text: string) => queryAsAdmin(server.url, text)
  await run("CREATE ROLE node LOGIN PASSWORD 'node'")
  await run('CREATE DATABASE limited OWNER node')
  const url = new URL(withName(server.url, 'limited'))
  url.username = url.password = 'node'
  const node = await openService(t, 'postgres', { url: url.href })
  const admin = await adminOf(node)
  await node.app.work()
  const readFacts = async () => {
    const { data } = (await admin.get('/admin/attention')).body
    return data.find(({ kind }: { kind: string }) => kind === 'database_full')?.facts
  }
  const readLeft = async () =>
    Number(
      /^gatehook_database_connections_left (\d+)/m.exec((await node.get('/metrics')).text)?.[1],
    )
  for (const [of, name] of [
    ['role', 'ROLE node'],
    ['database', 'DATABASE limited'],
  ] as const) {
    await run(`ALTER ${name} CONNECTION LIMIT 1`)
    const facts = await eventually(readFacts, (listed) => listed?.of === of)
    assert.equal(facts.repair, `ALTER ${name} CONNECTION LIMIT -1`)
    const { text } = await node.as(undefined).get('/readyz')
    assert.match(text, new RegExp(`"The ${of}[a-z ]* has no connection left for further clients`))
    assert.doesNotMatch(text, /limited/, 'any caller reads it')
    const { health } = (await admin.get('/admin/system')).body
    const isNamed = ({ message }: { message: string }) => message.includes(`${facts.repair}.`)
    assert.ok(health.warnings.some(isNamed), JSON.stringify(health.warnings))
    assert.equal(await readLeft(), 0)
    await run(facts.repair)
    await eventually(readLeft, (left) => left > 0)
  }
})

test('a full server is listed until 10 s after the last poll that met it', () => {
  let nowMs = 1_000
  const clock = { now: () => nowMs, elapsedMs: () => nowMs }
  const lines: unknown[] = []
  const log = { warn: (...line: unknown[]) => lines.push(line) } as unknown as Log
  const { polled, current } = createFullServer({ db: { name: 'postgres' }, clock, log })
  const receive = (used: number) =>
    polled[0]!.receive(
      JSON.stringify({ of: 'server', used, limit: 10, application: '', ofApplication: used }),
      nowMs,
    )
  receive(9)
  assert.equal(current(), undefined)
  receive(10)
  nowMs = 9_000
  receive(11)
  receive(9)
  nowMs = 19_000
  assert.equal(current()?.sinceMs, 1_000)
  assert.equal(lines.length, 1)
  nowMs = 19_001
  assert.equal(current(), undefined)
  assert.deepEqual(createFullServer({ db: { name: 'sqlite' }, clock, log }).polled, [])
})
