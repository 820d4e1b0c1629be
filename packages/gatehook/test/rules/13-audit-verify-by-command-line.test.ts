/**
 * §13: `gatehook audit verify` verifies the chain; it exits with 1 and names a broken row. §18.3:
 * the trail is read in any folder, and of a database that accepts no writes.
 */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { stopWrites } from '../../src/platform/storage/move/changes.ts'
import { describeTables } from '../../src/platform/storage/move/tables.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

test('audit list returns rows; audit verify passes, then names the changed row', async (t) => {
  const folder = await installed(t)
  const key = await jsonOf(folder, 'keys', 'create', '--name', 'CI', '--scopes', 'events:read')
  const { data } = await jsonOf(folder, 'audit', 'list', '--action', 'key.create')
  assert.equal(data.length, 1)
  const [row] = data
  assert.equal(row.target, key.id)
  assert.equal(row.principal.kind, 'cli')
  const report = await jsonOf(folder, 'audit', 'verify')
  assert.deepEqual([report.valid, report.broken], [true, null])
  const expected = await gatehook(folder, 'audit', 'verify', '--expect', row.hash)
  assert.equal(expected.exit, 0)
  const logged = await gatehook(folder, 'audit', 'verify', '--expect', `${row.seq}:${row.hash}`)
  assert.equal(logged.exit, 0)

  const db = new DatabaseSync(join(folder.cwd, 'data', 'gatehook.db'))
  db.exec(`UPDATE gh_audit SET target = 'key_other' WHERE id = '${row.id}'`)
  db.close()
  const broken = await gatehook(folder, 'audit', 'verify', '--json')
  assert.equal(broken.exit, 1)
  assert.equal(JSON.parse(broken.stdout).broken.id, row.id)
  const text = await gatehook(folder, 'audit', 'verify')
  assert.equal(text.exit, 1)
  assert.ok(text.stdout.includes(row.id))
  assert.equal((await gatehook(folder, 'audit', 'verify', '--expect', 'x')).exit, 2)
})

test('positions of rows that were removed at the end are counted', async (t) => {
  const folder = await installed(t)
  const create = (name: string) =>
    jsonOf(folder, 'keys', 'create', '--name', name, '--scopes', 'events:read')
  await create('one')
  const { last, positions_beyond } = await jsonOf(folder, 'audit', 'verify')
  assert.equal(positions_beyond, undefined)
  const db = new DatabaseSync(join(folder.cwd, 'data', 'gatehook.db'))
  const head = db.prepare("SELECT seq, hash, mac FROM gh_audit_chain WHERE name = 'head'").get()!
  await create('two')
  await create('three')
  await jsonOf(folder, 'audit', 'verify')
  // A writer of the database sets the chain back while no node runs: all HMACs are valid.
  db.exec(`DELETE FROM gh_audit WHERE seq > ${head.seq}; UPDATE gh_audit_chain
    SET seq = ${head.seq}, hash = '${head.hash}', mac = '${head.mac}' WHERE name = 'head'`)
  db.close()
  const report = await jsonOf(folder, 'audit', 'verify')
  assert.deepEqual([report.valid, report.last], [true, last])
  assert.ok(report.positions_beyond >= 2)
  const { stdout } = await gatehook(folder, 'audit', 'verify')
  assert.match(stdout, /\d+ positions after the last row have no row/)
})

const OWN_SERVICE = `import { f, resource, service } from 'gatehook'
const notes = resource('notes', {
  fields: { id: f.id(), text: f.string(), created_at: f.createdAt() },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'notes:read', create: 'notes:write', update: 'notes:write', delete: false },
  events: ['note.created'],
})
export const api = service({
  name: 'notes',
  versions: { v1: { released: '2026-06-01' } },
  resources: [notes],
})
`

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`the trail is read in any folder, and while no write is possible [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const env = {
      GATEHOOK_DATABASE_URL: url,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    }
    const home = { cwd: emptyFolder(t), env }
    writeFileSync(join(home.cwd, 'service.ts'), OWN_SERVICE)
    await jsonOf(home, 'migrate')
    const create = ['keys', 'create', '--name', 'k', '--mode', 'live', '--scopes']
    const { key } = await jsonOf(home, ...create, 'audit:read')
    const elsewhere = { cwd: emptyFolder(t), env }
    assert.equal((await gatehook(elsewhere, 'keys', 'list')).exit, 1, 'another declaration')

    const { data } = await jsonOf(elsewhere, 'audit', 'list')
    assert.ok(data.some(({ action }: { action: string }) => action === 'key.create'))
    const node = await serving(t, home)
    const remote = { cwd: emptyFolder(t), env: { GATEHOOK_API_KEY: key } }
    const ids = data.map(({ id }: { id: string }) => id)
    const rows = (await jsonOf(remote, 'audit', 'list', '--url', node.url)).data
    assert.deepEqual(
      rows.filter(({ id }: { id: string }) => ids.includes(id)),
      data,
      'both ways return the same rows',
    )
    node.kill('SIGTERM')
    await node.ended

    const db = await openForTest(t, url)
    const tables = await describeTables(db, engineTables)
    await stopWrites(db, tables)
    for (const place of [home, elsewhere]) {
      assert.equal((await jsonOf(place, 'audit', 'list')).data.length, rows.length)

      assert.equal((await jsonOf(place, 'audit', 'verify')).valid, true)
      const { exit, stdout, stderr } = await gatehook(place, 'audit', 'export')
      assert.equal(exit, 0, stderr)
      assert.equal(stdout.trim().split('\n').length, rows.length + 1, 'the rows and the end')
    }
    assert.deepEqual(await db.columns('users'), [])
    assert.equal(existsSync(join(elsewhere.cwd, 'data')), false)
  })
}

test('audit list finds what a person did by the e-mail address', async (t) => {
  const place = await installed(t)
  const db = new DatabaseSync(join(place.cwd, 'data', 'gatehook.db'))
  const { data } = await jsonOf(place, 'audit', 'list')
  const before = await jsonOf(place, 'audit', 'list', '--principal', 'ann@example.com')
  assert.deepEqual([before.data, data.length > 0], [[], true])
  const [{ id }] = data
  const name = "UPDATE gh_audit SET actor_name = 'ann@example.com', actor_id = 'opr_1' WHERE id = ?"
  db.prepare(name).run(id)
  db.close()
  for (const principal of ['ann@example.com', 'opr_1']) {
    const result = await jsonOf(place, 'audit', 'list', '--principal', principal)
    assert.deepEqual(
      result.data.map((row: { id: string }) => row.id),
      [id],
    )
  }
  for (const [flag, value] of [
    ['--action', 'key.created'],
    ['--count', '0'],
  ]) {
    assert.equal((await gatehook(place, 'audit', 'list', flag!, value!)).exit, 2)
  }
})
