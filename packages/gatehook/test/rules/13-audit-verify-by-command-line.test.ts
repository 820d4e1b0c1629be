/** §13: `gatehook audit verify` checks the chain; exit code 1 and the first broken row. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { emptyFolder, gatehook, jsonOf } from '../cli/process.ts'

test('audit list shows rows, audit verify passes and then names the changed row', async (t) => {
  const place = { cwd: emptyFolder(t) }
  const key = await jsonOf(place, 'keys', 'create', '--name', 'CI', '--scopes', 'events:read')
  const { data } = await jsonOf(place, 'audit', 'list', '--action', 'key.create')
  assert.equal(data.length, 1)
  const [row] = data
  assert.equal(row.target, key.id)
  assert.equal(row.principal.kind, 'cli')
  const report = await jsonOf(place, 'audit', 'verify')
  assert.deepEqual([report.valid, report.broken], [true, null])
  const noted = await gatehook(place, 'audit', 'verify', '--expect', row.hash)
  assert.equal(noted.exit, 0)

  const db = new DatabaseSync(join(place.cwd, 'data', 'gatehook.db'))
  db.exec(`UPDATE gh_audit SET target = 'key_other' WHERE id = '${row.id}'`)
  db.close()
  const broken = await gatehook(place, 'audit', 'verify', '--json')
  assert.equal(broken.exit, 1)
  assert.equal(JSON.parse(broken.stdout).broken.id, row.id)
  const text = await gatehook(place, 'audit', 'verify')
  assert.equal(text.exit, 1)
  assert.ok(text.stdout.includes(row.id))
  assert.equal((await gatehook(place, 'audit', 'verify', '--expect', 'x')).exit, 2)
})
