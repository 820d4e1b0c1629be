/**
 * §18.4: a start creates no table again that the service had: it would be empty, and give the ids
 * of its rows again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'

const HEAD = { name: 'Shelf', versions: { v1: { released: '2026-01-01' } } }
const access = { read: 'r', create: 'w', update: false, delete: false } as const
const notesOf = (text: ReturnType<typeof f.string>) =>
  resource('notes', {
    fields: { id: f.id(), text },
    list: { filter: [], sort: [] },
    access,
    events: [],
  })
const notes = notesOf(f.string())
const OWN = service({ ...HEAD, resources: [notes] })
const UNIQUE = service({ ...HEAD, resources: [notesOf(f.string().unique())] })

for (const { name: database } of databases) {
  test(`a start says which table is lost, and creates none [${database}]`, async (t) => {
    const url = await freshUrl(t, database)
    const first = await openService(t, database, { service: OWN, url })
    assert.equal((await first.post('/api/v1/notes', { text: 'one' })).status, 201)
    await first.app.close()
    const rename = async (from: string, to: string) => {
      const db = await openDatabase(url, { log: quietLog })
      await db.migrate((_, ddl) => ddl(`ALTER TABLE ${from} RENAME TO ${to}`))
      await db.close()
    }
    await rename('notes', 'away')
    await assert.rejects(
      openService(t, database, { service: OWN, url }),
      /The table notes of the service is missing\. Restore it/,
    )
    await rename('away', 'notes')
    const again = await openService(t, database, { service: OWN, url })
    const { body } = await again.get('/api/v1/notes')
    assert.deepEqual(
      body.data.map(({ text }: { text: string }) => text),
      ['one'],
    )
  })

  test(`a start names a table of the engine that is lost [${database}]`, async (t) => {
    const url = await freshUrl(t, database)
    const first = await openService(t, database, { service: OWN, url })
    await first.app.close()
    const rename = async (from: string, to: string) => {
      const db = await openDatabase(url, { log: quietLog })
      await db.write((tx) => tx.run(raw(`ALTER TABLE ${from} RENAME TO ${to}`)))
      await db.close()
    }
    for (const table of ['gh_migrations', 'gh_settings', 'gh_api_keys', 'gh_events', 'gh_jobs']) {
      await rename(table, 'away')
      await assert.rejects(openService(t, database, { service: OWN, url }), {
        name: 'ConfigError',
        message: new RegExp(`^The table ${table} of Gatehook is missing\\. Restore it, or move it`),
      })
      await rename('away', table)
    }
    await openService(t, database, { service: OWN, url })
  })

  test(`a start says which table has the name of an index [${database}]`, async (t) => {
    const url = await freshUrl(t, database)
    const first = await openService(t, database, { service: UNIQUE, url })
    await first.app.close()
    const db = await openDatabase(url, { log: quietLog })
    await db.migrate(async (tx, ddl) => {
      await ddl('ALTER TABLE notes RENAME TO former')
      await tx.run(sql`DELETE FROM gh_service_additions WHERE table_name = 'notes'`)
    })
    await db.close()
    await assert.rejects(openService(t, database, { service: UNIQUE, url }), {
      name: 'NameTakenError',
      message: /^notes_unique_text cannot be created: an(other)? index .*has its name\. Rename/,
    })
  })

  test(`a migration may rename a table, and a resource have its name [${database}]`, async (t) => {
    const url = await freshUrl(t, database)
    const first = await openService(t, database, { service: OWN, url })
    assert.equal((await first.post('/api/v1/notes', { text: 'one' })).status, 201)
    await first.app.close()
    const migrations = [
      {
        number: 1,
        name: 'former notes',
        table: 'notes',
        sql: 'ALTER TABLE notes RENAME TO former',
      },
    ]
    const next = service({ ...HEAD, resources: [notes], migrations })
    const second = await openService(t, database, { service: next, url })
    assert.deepEqual((await second.get('/api/v1/notes')).body.data, [])
    await second.app.close()
    await openService(t, database, { service: next, url })
  })
}
