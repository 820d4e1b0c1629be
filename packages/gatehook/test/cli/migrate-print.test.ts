/** §17.2, `gatehook migrate --print`: SQL that leaves nothing of a start's migration to do. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { openTeamDatabase } from '../storage/team-database.ts'
import { gatehook, jsonOf, type Place, sentencesOf } from './command.ts'

/** A declaration with all that a start creates: words, derived fields, events of SQL. */
const serviceWith = ({ fields = '', types = '', migrations = '' }) => `
import { event, f, fields, resource, service } from 'gatehook'
const paid = (name) => ({ event: event(name, fields({ id: f.string().max(40) })), from: ['sql'] })
const notes = resource('notes', {
  fields: { id: f.id('no'), text: f.string(), size: f.derived(f.int(), 'length(text)')${fields} },
  list: { filter: ['size'], contains: [], sort: ['size'] },
  search: ['text'],
  access: { read: 'n:read', create: 'n:write', update: 'n:write', delete: 'n:write' },
  events: ['note.created'],
})
export const api = service({ name: 'Acme', versions: { v1: { released: '2026-06-01' } },
  resources: [notes], externalEvents: ['invoice.paid'${types}].map(paid),
  migrations: [${migrations}] })
`
const NEXT = serviceWith({
  fields: ", title: f.string().default('')",
  types: ", 'invoice.void'",
  migrations: `{ number: 1, name: 'ends', table: 'notes',
    sql: "UPDATE notes SET text = 'it''s; ' || text; -- of all rows" }`,
})

async function openTeam(t: TestContext) {
  const { url, query } = await openTeamDatabase(t)
  const cwd = emptyFolder(t)
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_DATABASE_SCHEMA: 'one',
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
  }
  const place: Place = { cwd, env }
  const declare = (text: string) => writeFileSync(join(cwd, 'service.ts'), text)
  const print = async (): Promise<string> => {
    const { exit, stdout, stderr } = await gatehook(place, 'migrate', '--print')
    assert.equal(exit, 0, stderr)
    return stdout
  }
  /** Applies a text in one transaction, as the tools of teams do. */
  const apply = async (text: string) => {
    const client = new pg.Client(url)
    await client.connect()
    await client.query(`BEGIN; ${text}; COMMIT`).finally(() => client.end())
  }
  const tables = () => query("SELECT tablename FROM pg_tables WHERE schemaname = 'one'")
  return { place, declare, print, apply, tables, query, user: new URL(url).username }
}

test('printed SQL creates what a start creates; a start has nothing to add', async (t) => {
  const { place, declare, print, apply, tables, query, user } = await openTeam(t)
  declare(serviceWith({}))
  const text = await print()
  assert.ok(text.startsWith(`SET ROLE "${user}";\n`), text.slice(0, 80))
  assert.deepEqual(await tables(), [])
  await apply(text)
  assert.deepEqual((await jsonOf(place, 'migrate', '--plan')).statements, [])
  assert.match(await print(), /^-- The database is up to date\.\n$/)
  const types = await query('SELECT type FROM one.gh_emission_types')
  assert.deepEqual(types, [{ type: 'invoice.paid' }])
  assert.deepEqual((await jsonOf(place, 'migrate')).applied, [])
})

test('printed SQL has only what a database lacks, with its bookkeeping', async (t) => {
  const { place, declare, print, apply, query } = await openTeam(t)
  declare(serviceWith({}))
  await jsonOf(place, 'migrate')
  await query("INSERT INTO one.notes (scope, id, text) VALUES (1, 'no_1', 'a')")
  declare(NEXT)
  const text = await print()
  assert.doesNotMatch(text, /CREATE TABLE/)
  assert.deepEqual(await query('SELECT text FROM one.notes'), [{ text: 'a' }])
  await apply(text)
  assert.deepEqual(await query('SELECT text, title FROM one.notes'), [
    { text: "it's; a", title: '' },
  ])
  assert.deepEqual(await query('SELECT number FROM one.gh_service_migrations'), [{ number: '1' }])
  // The words of rows, which a migration has changed, are work of a start.
  const { statements } = await jsonOf(place, 'migrate', '--plan')
  assert.deepEqual(
    statements.map(({ sql }: { sql: string }) => sql),
    ['index the words of all rows of notes, 1,000 in each transaction'],
  )
  await jsonOf(place, 'migrate')
  assert.deepEqual((await jsonOf(place, 'migrate', '--plan')).statements, [])
  const types = await query('SELECT type FROM one.gh_emission_types ORDER BY type')
  assert.deepEqual(types, [{ type: 'invoice.paid' }, { type: 'invoice.void' }])
})

test('there is no such SQL of SQLite', async (t) => {
  const ended = await gatehook({ cwd: emptyFolder(t) }, 'migrate', '--print')
  assert.equal(ended.exit, 2)
  assert.match(sentencesOf(ended).join(), /PostgreSQL: set GATEHOOK_DATABASE_URL/)
})
