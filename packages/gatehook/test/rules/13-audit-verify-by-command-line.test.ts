/** §13: `gatehook audit verify` verifies the chain; it exits with 1 and names a broken row. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { gatehook, installed, jsonOf } from '../cli/process.ts'

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
