/** §18.4: one process serves from a SQLite file; a take-over ends the former one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { gatehook, installed, jsonOf, sentencesOf } from '../cli/command.ts'
import { launched, serving } from '../cli/process.ts'

const IN_USE = /^The database \S+gatehook\.db is in use: process (\d+) on \S+ serves from it/

test('a second start is refused while the first runs, and commands work beside it', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const first = await serving(t, place, '--no-seed')
  const { pid } = await first.line(({ msg }) => msg === 'listening')
  const { exit, stderr } = await gatehook(place, 'start', '--port', '0')
  assert.equal(exit, 75, stderr)
  assert.equal(IN_USE.exec(sentencesOf({ stderr })[0] ?? '')?.[1], String(pid), stderr)
  for (const words of [['keys', 'list'], ['audit', 'verify'], ['backup', 'b.gatehook'], ['seed']]) {
    await jsonOf(place, ...words)
  }
  await jsonOf(place, 'migrate')
  assert.equal((await fetch(`${first.url}/readyz`)).status, 200)
})

test('the lock ends with its process, by kill -9 too', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const first = await serving(t, place, '--no-seed')
  first.kill('SIGKILL')
  await first.ended
  const second = await serving(t, place)
  second.kill('SIGTERM')
  assert.equal((await second.ended).exit, 0)
  await serving(t, place)
})

test('after a take-over the former process answers nothing and exits with 75', async (t) => {
  const place = await installed(t)
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'a', '--scopes', 'users:write')
  const first = await serving(t, place, '--no-seed')
  first.kill('SIGSTOP')
  const post = (url: string, email: string) =>
    fetch(`${url}/api/v2/users`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Ada', email }),
    })
  // It waits in the socket of the stopped process.
  const late = post(first.url, 'late@example.com').catch((error: Error) => error)
  const second = await serving(t, place, '--no-seed', '--take-over')
  assert.equal((await gatehook(place, 'start', '--port', '0')).exit, 75, 'the lock has moved')
  assert.equal((await post(second.url, 'ada@example.com')).status, 201)
  first.kill('SIGCONT')
  const { exit, stdout } = await first.ended
  assert.equal(exit, 75)
  assert.match(stdout, /"msg":"another process has taken the database over; this one ends"/)
  assert.ok((await late) instanceof Error, 'the request has no answer')
  assert.equal((await post(second.url, 'late@example.com')).status, 201, 'and no effect')
})

test('an idle process notices a take-over by itself', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const first = launched(t, place, 'start', '--port', '0', '--no-seed')
  await first.line(({ msg }) => msg === 'listening')
  await serving(t, place, '--take-over')
  assert.equal((await first.ended).exit, 75)
})

test('each connection of a former owner rejects transactions', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  let calls = 0
  const onTakenOver = () => void calls++
  const open = (options: object, generation?: number) =>
    openDatabase({ url, generation }, { log: quietLog, ...options })
  const first = await open({ ownership: { takesOver: false }, onTakenOver })
  onEnd(t, () => first.close())
  const thread = await open({ onTakenOver }, first.generation)
  onEnd(t, () => thread.close())
  await first.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER)'))
  const insert = sql`INSERT INTO t VALUES (1)`
  const beside = await open({})
  onEnd(t, () => beside.close())
  await assert.rejects(open({ ownership: { takesOver: false } }), /is in use/)
  const second = await open({ ownership: { takesOver: true } })
  onEnd(t, () => second.close())
  for (const former of [first, thread]) {
    const isUnavailable = (error: unknown) =>
      error instanceof Failure && error.code === 'storage_unavailable'
    await assert.rejects(
      former.write((tx) => tx.run(insert)),
      isUnavailable,
    )
    assert.equal(former.isOwner(), false)
  }
  assert.ok(calls >= 4)
  for (const current of [second, beside]) await current.write((tx) => tx.run(insert))
  assert.equal((await second.all(sql`SELECT id FROM t`)).length, 2)
})
