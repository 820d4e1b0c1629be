/** §17.1: each command leaves tables of others as they are, and says why it changes nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { openService } from '../../../../test/rig/service.ts'
import { requireOwnTables } from '../../src/declare/resources/database-owner.ts'
import { service } from '../../src/gatehook.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { checkPages } from '../../src/platform/storage/page-check.ts'
import { createHosts } from '../../src/platform/storage/postgres-hosts.ts'
import { gatehook } from '../cli/command.ts'
import { HEAD, inSchema, notes, OWN, openTeamDatabase } from '../storage/team-database.ts'

const COLUMNS = `SELECT table_schema, table_name, column_name FROM information_schema.columns
  WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3`
const KEYS =
  "SELECT conname, conrelid::regclass::text FROM pg_constraint WHERE contype IN ('f', 'p')"

test('a move into a schema with tables of others changes nothing', async (t) => {
  const source = await openService(t, 'postgres', { service: OWN })
  assert.equal((await source.post('/api/v1/notes', { text: 'moves' })).status, 201)
  const { url, query } = await openTeamDatabase(t)
  await query(`CREATE TABLE public.notes (id int PRIMARY KEY);
    CREATE TABLE public.pages (id int, note int REFERENCES notes)`)
  const read = async () => [await query(COLUMNS), await query(KEYS)]
  const before = await read()
  await assert.rejects(
    moveDatabase(source.url, url, OWN),
    /tables of another program: notes, pages, users/,
  )
  assert.deepEqual(await read(), before)
  assert.equal((await source.post('/api/v1/notes', { text: 'still here' })).status, 201)
})

test('a resumed move keeps the foreign keys of a table that others added', async (t) => {
  const source = await openService(t, 'postgres', { service: OWN })
  assert.equal((await source.post('/api/v1/notes', { text: 'moves' })).status, 201)
  const url = await freshUrl(t, 'postgres')
  const target = await openDatabase(url, { log: quietLog })
  onEnd(t, () => target.close())
  const interrupted = moveDatabase(source.url, url, OWN, {
    onProgress() {
      throw new Error('interrupted')
    },
  })
  await assert.rejects(interrupted, /interrupted/)
  await target.migrate((_, ddl) =>
    ddl(`CREATE TABLE "Bills" (id int PRIMARY KEY);
      CREATE TABLE bill_lines (bill int REFERENCES "Bills")`),
  )
  const statements: string[] = []
  await moveDatabase(source.url, url, OWN, {
    onProgress: () => void statements.push('copied'),
  })
  assert.ok(statements.length > 0)
  const keys = await target.all({
    sql: '',
    text: `SELECT conname FROM pg_constraint WHERE conname = 'bill_lines_bill_fkey'`,
    values: [],
  })
  assert.equal(keys.length, 1)
})

test('a node that another one overtakes is not refused', async (t) => {
  const { url } = await openTeamDatabase(t)
  const env = inSchema('one')
  await openService(t, 'postgres', { service: OWN, url, env })
  const db = await openDatabase({ url, schema: 'one' }, { log: quietLog })
  onEnd(t, () => db.close())
  const { definition } = service({ ...HEAD, resources: [notes] })
  // The record of the table, as it was read before the other node committed both.
  const stale: Database = {
    ...db,
    arrays: async (statement) =>
      statement.text.includes('gh_service_additions') ? [] : db.arrays(statement),
  }
  await requireOwnTables(stale, definition, {})
  // The tables of the engine, which did not exist at the first look.
  let looks = 0
  const early: Database = {
    ...db,
    columns: async (table, tx) =>
      table === 'gh_settings' && looks++ === 0 ? [] : db.columns(table, tx),
  }
  await requireOwnTables(early, definition, {})
  assert.ok(looks > 1)
})

test('a plan ends as the migration would', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  await query('CREATE TABLE one.invoices (id int)')
  const env = {
    GATEHOOK_DATABASE_URL: url,
    GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    ...inSchema('one'),
  }
  const place = { cwd: emptyFolder(t), env }
  const before = await query(COLUMNS)
  const [plan, migration] = [
    await gatehook(place, 'migrate', '--plan'),
    await gatehook(place, 'migrate'),
  ]
  assert.deepEqual([plan.exit, migration.exit], [78, 78])
  assert.match(plan.stderr, /tables of another program: invoices/)
  assert.equal(plan.stderr, migration.stderr)
  assert.deepEqual(await query(COLUMNS), before)
})

test('search_path in the options of an address is refused', () => {
  const hostsOf = (options: string) =>
    createHosts(`postgres://h/d?options=${encodeURIComponent(options)}`, {})
  for (const options of [
    '-c search_path=team',
    '-csearch_path=team',
    '--search_path=team',
    '--search-path=team',
    '-c work_mem=1MB -c SEARCH_PATH=team',
  ]) {
    assert.throws(() => hostsOf(options), /sets search_path .*GATEHOOK_DATABASE_SCHEMA/, options)
  }
  assert.equal(hostsOf('-c work_mem=1MB').count, 1)
})

test('the check of pages finds amcheck in the schema where it is', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  await query('CREATE SCHEMA "Tools"; CREATE EXTENSION amcheck SCHEMA "Tools"')
  await openService(t, 'postgres', { service: OWN, url, env: inSchema('one') })
  const db = await openDatabase({ url, schema: 'one' }, { log: quietLog })
  onEnd(t, () => db.close())
  const check = () => checkPages(db, async () => {})
  assert.equal((await check())?.hasIndexes, false)
  const role = new URL(url).username
  await query(`GRANT USAGE ON SCHEMA "Tools" TO ${role}`)
  assert.equal((await check())?.hasIndexes, false)
  await query(`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "Tools" TO ${role}`)
  assert.deepEqual(
    { ...(await check()), relations: 0 },
    { relations: 0, faults: [], hasIndexes: true },
  )
})
