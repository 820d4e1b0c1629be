/**
 * §18.8: a migration that takes a column from nodes that run is refused with their names, and a
 * declaration refuses a database with migrations that it does not know, except additions.
 */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { type Kind, migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import {
  type MigrationOptions,
  type Service,
  service,
} from '../../src/declare/resources/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { listRunningNodes, NodesRunError, storeNode } from '../../src/platform/nodes/registry.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { DeclarationError } from '../../src/protocol/fields/declaration-mistakes.ts'
import { f } from '../../src/protocol/fields/f.ts'
import type { AnyField, Fields } from '../../src/protocol/fields/fields.ts'
import { gatehook } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

function notes(fields: Fields, migrations: MigrationOptions[] = []): Service {
  const notesResource = resource('notes', {
    fields: { id: f.id(), ...(fields as Record<string, AnyField>) },
    list: { filter: [], sort: ['id'] },
    access,
    events: [],
  })
  return service({
    name: 'n',
    versions: { v1: { released: '2026-01-01' } },
    resources: [notesResource],
    migrations,
  })
}

const before = { text: f.string(), size: f.int().default(1) }

/** A change of the table, with the fields of the declaration that has it. */
interface Change {
  readonly name: string
  readonly sql: string
  readonly fields: Fields
}

const removals: readonly Change[] = [
  {
    name: 'drops a column',
    sql: 'ALTER TABLE notes DROP COLUMN size',
    fields: { text: f.string() },
  },
  {
    name: 'renames a column',
    sql: 'ALTER TABLE notes RENAME COLUMN size TO length',
    fields: { text: f.string(), length: f.int() },
  },
  {
    name: 'changes the type of a column',
    sql: `ALTER TABLE notes RENAME COLUMN size TO size_old;
      ALTER TABLE notes ADD COLUMN size {real} NOT NULL DEFAULT 1;
      ALTER TABLE notes DROP COLUMN size_old`,
    fields: { text: f.string(), size: f.number().default(1) },
  },
  { name: 'renames the table', sql: 'ALTER TABLE notes RENAME TO notes_old', fields: before },
]

const additions: readonly Change[] = [
  {
    name: 'adds a column',
    sql: "ALTER TABLE notes ADD COLUMN tag {text} NOT NULL DEFAULT 'x'",
    fields: { ...before, tag: f.string() },
  },
  { name: 'changes rows', sql: 'UPDATE notes SET size = 2', fields: before },
  {
    name: 'creates a table',
    sql: 'CREATE TABLE archive (id {int} NOT NULL PRIMARY KEY)',
    fields: before,
  },
]

const serviceWith = ({ name, sql, fields }: Change): Service =>
  notes(fields, [{ number: 1, name, table: 'notes', sql }])

const columnNames = async (db: Database) => (await db.columns('notes')).map(({ name }) => name)

/** Opens a second process's connection to the database of a node that runs. */
async function besideNode(t: TestContext, kind: Kind) {
  const url = await migratedUrl(t, kind)
  const node = await openService(t, kind, { url, service: notes(before) })
  await node.app.work()
  return { node, db: await openForTest(t, url) }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  for (const change of removals) {
    test(`a migration that ${change.name} is refused while a node runs [${kind}]`, async (t) => {
      const { node, db } = await besideNode(t, kind)
      const { definition } = serviceWith(change)
      const names = await columnNames(db)
      await assert.rejects(migrateService(db, definition), (error) => {
        assert.ok(error instanceof NodesRunError, String(error))
        assert.match(error.message, /^Your migration 1 .*notes\.size/)
        assert.ok(error.message.includes(hostname()), error.message)
        return true
      })
      assert.deepEqual(await columnNames(db), names, 'nothing of it was applied')
      assert.equal((await node.get('/readyz')).status, 200)

      await migrateService(db, definition, undefined, { ignoresNodes: true })
      const isLacking = !('size' in change.fields)
      assert.equal((await node.get('/readyz')).status, isLacking ? 503 : 200)
    })
  }

  for (const change of additions) {
    test(`a migration that ${change.name} runs beside nodes, and back [${kind}]`, async (t) => {
      const { node, db } = await besideNode(t, kind)
      await migrateService(db, serviceWith(change).definition)
      assert.equal((await node.get('/readyz')).status, 200)
      await migrateService(db, notes(before).definition)
    })
  }

  test(`nodes that ended, or use none of its columns, stop no migration [${kind}]`, async (t) => {
    const { node, db } = await besideNode(t, kind)
    await node.app.close()
    const row = { slot: 1, facts: '{}', keyIds: [] }
    const uses = { notes: { scope: 'int', id: 'int', size: 'int' } }
    const killed = { id: 'a', name: 'killed', columns: uses, seenAt: wallClock.now() - 46_000 }
    const other = { id: 'b', name: 'other', columns: { notes: { text: 'text' } } }
    await storeNode(db, { ...row, ...killed })
    await storeNode(db, { ...row, ...other, seenAt: wallClock.now() })
    await migrateService(db, serviceWith(removals[0]!).definition)
    assert.ok(!(await columnNames(db)).includes('size'))
  })

  for (const change of removals) {
    test(`the previous declaration refuses a database that ${change.name} [${kind}]`, async (t) => {
      const db = await openForTest(t, await migratedUrl(t, kind))
      await migrateService(db, notes(before).definition)
      await migrateService(db, serviceWith(change).definition)
      const names = await columnNames(db)
      await assert.rejects(migrateService(db, notes(before).definition), (error) => {
        assert.ok(error instanceof DeclarationError)
        assert.match(error.message, /has migration 1 .*lacks/)
        return true
      })
      assert.deepEqual(await columnNames(db), names)
    })
  }
}

test('a node that owns a SQLite file ends killed nodes; a command does not', async (t) => {
  const url = await migratedUrl(t, 'sqlite')
  const db = await openForTest(t, url)
  const killed = { id: 'a', name: 'killed', slot: 0, facts: '{}', columns: {}, keyIds: [] }
  await storeNode(db, { ...killed, seenAt: wallClock.now() })
  const runningNodes = () => listRunningNodes(db, wallClock.now())
  await openService(t, 'sqlite', { url, service: notes(before) })
  assert.equal((await runningNodes()).length, 1)
  await openService(t, 'sqlite', { url, service: notes(before), ownership: { takesOver: false } })
  assert.deepEqual(await runningNodes(), [])
})

eachService('a node names itself and its columns while it works', async ({ app }) => {
  const count = async () => (await app.db.arrays({ ...COUNT, values: [] }))[0]![0]
  assert.equal(await count(), 0)
  await app.work()
  assert.equal(await count(), 1)
})
const text = 'SELECT count(*) FROM gh_nodes'
const COUNT = { sql: text, text }

const declaration = (fields: string, migrations: string) => `
import { f, resource, service } from 'gatehook'
const notes = resource('notes', {
  fields: { id: f.id(), ${fields} },
  list: { filter: [], sort: ['id'] },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
})
export const api = service({
  name: 'n', versions: { v1: { released: '2026-01-01' } }, resources: [notes],
  migrations: [${migrations}],
})`

test('gatehook migrate exits with 75 and the name of the node; --force applies it', async (t) => {
  const cwd = emptyFolder(t)
  const { writeFileSync } = await import('node:fs')
  const save = (text: string) => writeFileSync(join(cwd, 'service.ts'), text)
  save(declaration('text: f.string(), size: f.int()', ''))
  const node = await serving(t, { cwd }, '--no-seed')
  const sql = 'ALTER TABLE notes DROP COLUMN size'
  save(
    declaration(
      'text: f.string()',
      `{ number: 1, name: 'no size', table: 'notes', sql: '${sql}' }`,
    ),
  )
  const refused = await gatehook({ cwd }, 'migrate')
  assert.equal(refused.exit, 75, refused.stderr)
  assert.ok(refused.stderr.includes(hostname()), refused.stderr)
  const forced = await gatehook({ cwd }, 'migrate', '--force')
  assert.equal(forced.exit, 0, forced.stderr)
  const { status } = await fetch(`${node.url}/readyz`)
  assert.equal(status, 503)
})
