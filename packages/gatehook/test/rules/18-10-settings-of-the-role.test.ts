/** §18.10: settings of the role or the database change no value that a node reads or writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { readTableParts } from '../../src/platform/storage/table-parts.ts'
import { adminOf } from '../monitoring/admin.ts'

/** Settings that change the texts of values, or the meaning of SQL, with another value. */
const OTHERS: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  backslash_quote: 'on',
  bytea_output: 'escape',
  client_encoding: 'LATIN1',
  DateStyle: 'German',
  escape_string_warning: 'off',
  extra_float_digits: '-15',
  IntervalStyle: 'sql_standard',
  quote_all_identifiers: 'on',
  standard_conforming_strings: 'off',
  TimeZone: 'Asia/Tokyo',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
}

/** The others of their categories, which no statement of the engine depends on. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  allow_alter_system: 'is of the server',
  default_text_search_config: 'words are indexed by the engine',
  icu_validation_level: 'of new collations',
  lc_messages: 'of superusers; texts of errors',
  lc_monetary: 'to_char alone reads it',
  lc_numeric: 'to_char alone reads it',
  lc_time: 'to_char alone reads it',
  lo_compat_privileges: 'there are no large objects',
  synchronize_seqscans: 'ordered statements have ORDER BY',
  timezone_abbreviations: 'no statement parses a text as an instant',
}

const CATEGORIES = `category LIKE '%Locale and Formatting'
  OR category LIKE 'Version and Platform Compatibility%'`

const FORMS = sql`SELECT ${raw(String.raw`CAST(0.1 AS double precision) + 0.2 AS sum,
  CAST('2026-11-30T12:00:00Z' AS timestamptz)::text AS instant, DATE '2026-11-30'::text AS day,
  make_interval(days => 3, hours => 4)::text AS pause, '\x0001'::bytea AS bytes,
  (SELECT '\x0041'::bytea::text) AS hex, 'a\b' AS slash, 'é€' AS letters,
  quote_ident('name') AS name, NULL = NULL AS compared, '{NULL}'::text[] AS list,
  CAST(1e15 AS double precision) / 3 AS third, 'a_b' LIKE 'a\_b' AS liked`)}`

const readForms = async (db: Database) => [
  await db.get(FORMS),
  await db.write((tx) => tx.get(FORMS)),
  await db.snapshot((reader) => reader.get(FORMS)),
]

/** Behind a pooler, idle sessions are the pooler's. */
const IDLE = { idle_session_timeout: '1ms' }

async function setOthers(url: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const admin = await openDatabase(url, { log: quietLog })
  const name = new URL(url).pathname.slice(1)
  await admin.migrate(async (_tx, ddl) => {
    for (const [setting, value] of Object.entries({ ...OTHERS, ...more }))
      await ddl(`ALTER DATABASE ${name} SET ${setting} = '${value}'`)
  })
  await admin.close()
}

test('each setting of forms is one of the table', async (t) => {
  const db = await openDatabase(await freshUrl(t, 'postgres'), { log: quietLog })
  onEnd(t, () => db.close())
  const rows = await db.all(sql`SELECT name FROM pg_settings WHERE ${raw(CATEGORIES)}`)
  const listed = Object.keys({ ...OTHERS, ...WITHOUT_EFFECT }).map((name) => name.toLowerCase())
  const unlisted = rows
    .map(({ name }) => name)
    .filter((name) => !listed.includes(name.toLowerCase()))
  assert.deepEqual(unlisted, [])
})

for (const pooler of [undefined, 'transaction'] as const) {
  test(`values have the same forms with other settings [${pooler ?? 'direct'}]`, async (t) => {
    const url = await freshUrl(t, 'postgres')
    const before = await openDatabase(url, { log: quietLog })
    const expected = await readForms(before)
    await before.close()
    await setOthers(url, pooler ? {} : IDLE)
    const db = await openDatabase({ url, ...(pooler && { pooler }) }, { log: quietLog })
    onEnd(t, () => db.close())
    assert.deepEqual(await readForms(db), expected)
  })
}

test('a node with other settings serves the same values, and blames no clock', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  await setOthers(url, IDLE)
  const service = await openService(t, 'postgres', { url })
  await service.app.work()
  const user = { name: 'Ada \\ Ö', email: 'ada@example.com' }
  const created = await service.post('/api/v2/users', user)
  assert.equal(created.status, 201, created.text)
  const read = await service.get(`/api/v2/users/${created.body.id}`)
  assert.deepEqual(read.body, created.body)
  const { status, body } = await service.as(undefined).get('/readyz')
  assert.deepEqual([status, body.warnings ?? []], [200, []])
})

test('a short statement_timeout of a role behind a pooler is a warning', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const env = { GATEHOOK_DATABASE_POOLER: 'transaction' }
  const pooled = await openService(t, 'postgres', { url, env })
  const direct = await openService(t, 'postgres', { url })
  const warningOf = async (node: typeof pooled) => {
    const { warnings = [] } = (await (await adminOf(node)).get('/admin/system')).body.health
    return warnings.find(({ check }: { check: string }) => check === 'schema')?.message
  }
  const name = new URL(url).pathname.slice(1)
  const set = (value: string) =>
    direct.app.db.migrate((_tx, ddl) =>
      ddl(`ALTER DATABASE ${name} SET statement_timeout = '${value}'`),
    )
  for (const [value, isShort] of [
    ['900', true],
    ['900ms', true],
    ['900000us', true],
    ['1min', false],
    ['0', false],
  ] as const) {
    await set(value)
    assert.equal(await warningOf(direct), undefined)
    const reset = `ALTER DATABASE ${name} RESET statement_timeout`
    assert.equal((await warningOf(pooled))?.includes(reset) ?? false, isShort, value)
  }
})

/** Ways of the planner that are on by default, and others; a server may lack some. */
const PLANS: readonly (readonly [setting: string, value: string, isNamed: boolean])[] = [
  ['work_mem', '64kB', true],
  ['work_mem', '64', true],
  ['work_mem', '1MB', false],
  ['work_mem', '16MB', false],
  ['plan_cache_mode', 'force_generic_plan', true],
  ['plan_cache_mode', 'force_custom_plan', false],
  ['enable_indexscan', 'no', true],
  ['enable_indexscan', 'on', false],
  ['enable_partitionwise_join', 'off', false],
]

test('each setting that makes plans slow is a warning with its statement', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const node = await openService(t, 'postgres', { url })
  const { db } = node.app
  const name = new URL(url).pathname.slice(1)
  const alter = (text: string) => db.migrate((_tx, ddl) => ddl(`ALTER DATABASE ${name} ${text}`))
  const ways = await db.all(
    sql`SELECT name FROM pg_settings WHERE name LIKE 'enable%' AND boot_val = 'on'`,
  )
  assert.ok(ways.length >= 15)
  const resetsOf = async () =>
    (await readTableParts(db, ['orders'])).planResets.map((text) => text.split(' ').at(-1))
  const names = ways.map((row) => String(row.name)).sort()
  for (const way of names) await alter(`SET ${way} = off`)
  assert.deepEqual((await resetsOf()).sort(), names)
  const { warnings } = (await (await adminOf(node)).get('/admin/system')).body.health
  const schema = warnings.find(({ check }: { check: string }) => check === 'schema')
  const text = JSON.stringify(schema)
  assert.ok(text.includes(`ALTER DATABASE ${name} RESET enable_bitmapscan`), text)
  await alter('RESET ALL')
  for (const [setting, value, isNamed] of PLANS) {
    await alter(`SET ${setting} = '${value}'`)
    assert.deepEqual(await resetsOf(), isNamed ? [setting] : [], `${setting} = ${value}`)
    await alter('RESET ALL')
  }
})
