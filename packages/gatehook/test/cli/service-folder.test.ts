/** The folder of a service decides which API is served, and where its data is (§2.4). */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, jsonOf, type Place, sentencesOf } from './command.ts'
import { serving } from './process.ts'

const NOTES = `import { f, resource, service } from 'gatehook'
const notes = resource('notes', {
  fields: { id: f.id(), title: f.string() },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  list: { filter: [], sort: [] },
  events: [],
})
export default service({
  name: 'Notes',
  versions: { v1: { released: '2026-01-01' } },
  resources: [notes],
})
`

/** Writes a service into the folder `notes` of a new folder. */
function notesIn(t: TestContext): Place & { readonly folder: string } {
  const cwd = emptyFolder(t)
  const folder = join(cwd, 'notes')
  mkdirSync(folder)
  writeFileSync(join(folder, 'service.ts'), NOTES)
  return { cwd, folder }
}

test('relative data belongs to the folder of the service, for each command', async (t) => {
  const place = notesIn(t)
  const { cwd, folder } = place
  await serving(t, place, 'notes')
  assert.deepEqual(readdirSync(cwd), ['notes'], 'nothing is written where the command ran')
  const { values } = await jsonOf(place, 'config', '--dir', 'notes')
  const file = join(folder, 'data', 'gatehook.db')
  const url = values.find(({ name }: { name: string }) => name === 'GATEHOOK_DATABASE_URL').value
  assert.deepEqual([url, existsSync(file)], [`sqlite:${file}`, true])
  const created = await jsonOf(place, 'customers', 'create', 'Acme', '--dir', 'notes')
  const inFolder = await jsonOf({ cwd: folder }, 'customers', 'list')
  assert.ok(inFolder.data.some(({ id }: { id: string }) => id === created.id))
  await jsonOf(place, 'backup', 'copy.gatehook', '--dir', 'notes')
  assert.ok(existsSync(join(cwd, 'copy.gatehook')), 'other files are relative to this folder')
  const env = { GATEHOOK_DATABASE_URL: 'sqlite:./other.db' }
  await jsonOf({ ...place, env }, 'migrate', '--dir', 'notes')
  assert.ok(existsSync(join(folder, 'other.db')))
})

test('a folder without a service changes no database of another service', async (t) => {
  const place = notesIn(t)
  await jsonOf(place, 'migrate', '--dir', 'notes')
  const cwd = emptyFolder(t)
  const env = { GATEHOOK_DATABASE_URL: `sqlite:${join(place.folder, 'data', 'gatehook.db')}` }
  for (const command of [['start', '--port', '0'], ['migrate'], ['seed']]) {
    const refused = await gatehook({ cwd, env }, ...command)
    assert.equal(refused.exit, 78, refused.stderr)
    assert.match(sentencesOf(refused).join(), /no service.ts.*another service.*tables notes/)
  }
  const { statements } = await jsonOf({ cwd: place.folder }, 'migrate', '--plan')
  assert.deepEqual(statements, [])
})

test('a service file with a similar name is named', async (t) => {
  for (const name of ['services.ts', 'Service.ts', 'service.mts', 'service.tsx']) {
    const cwd = emptyFolder(t)
    writeFileSync(join(cwd, name), NOTES)
    const refused = await gatehook({ cwd }, 'start', '--port', '0')
    assert.equal(refused.exit, 78)
    assert.match(sentencesOf(refused).join(), new RegExp(`There is no service.ts .*${name}`))
    assert.deepEqual(readdirSync(cwd), [name])
  }
})

test('a folder without a service serves the reference service, and its log says so', async (t) => {
  const cwd = emptyFolder(t)
  const { lines } = await serving(t, { cwd })
  assert.ok(lines.some(({ msg }) => /no service.ts in this folder/.test(String(msg))))
  assert.ok(existsSync(join(cwd, 'data', 'gatehook.db')))
})

test('a command with DIR takes --dir as well, and rejects both', async (t) => {
  const place = notesIn(t)
  assert.match((await gatehook(place, 'check', '--update', '--dir', 'notes')).stdout, /notes/)
  assert.deepEqual((await jsonOf(place, 'check', '--dir', 'notes')).ok, true)
  assert.deepEqual((await jsonOf(place, 'check', 'notes')).ok, true)
  const both = await gatehook(place, 'check', 'notes', '--dir', 'notes')
  assert.equal(both.exit, 2)
  assert.match(both.stderr, /DIR and --dir exclude each other/)
})
