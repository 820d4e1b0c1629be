/** `gatehook move` copies every table of the engine, whatever state its rows are in (§2.8). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { type Caller, openService } from '../../../../test/rig/service.ts'
import { api } from '../../service/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { f, resource, type Service, service } from '../../src/gatehook.ts'
import type { Database, Value } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { prepareStatement, sql } from '../../src/platform/storage/sql.ts'
import type { DeclaredColumn, Table } from '../../src/platform/storage/table.ts'

const directions = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const

const movedTables = engineTables.filter(({ staysBehind }) => !staysBehind)

/** Returns a value of the column for the n-th row. */
function sampleCell({ kind, nullable }: DeclaredColumn, n: number): Value {
  if (nullable && n === 1) return null
  if (kind === 'text') return `"é" ${n}`
  if (kind === 'bytes') return new Uint8Array([0, 255, n])
  return kind === 'real' ? n + 0.5 : n
}

/** Inserts a row with a value in each column, and one with null where null is valid. */
async function insertRows(db: Database, { name, columns }: Table): Promise<void> {
  const written = Object.entries(columns).filter(([, { kind }]) => !/serial|txid/.test(kind))
  const names = written.map(([column]) => `"${column}"`).join(', ')
  const marks = written.map(() => '?').join(', ')
  const insert = prepareStatement(`INSERT INTO ${name} (${names}) VALUES (${marks})`)
  for (const n of [1, 2]) {
    await db.write((tx) => tx.run(insert(written.map(([, column]) => sampleCell(column, n)))))
  }
}

const textOf = (value: Value): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)

/** Returns the rows as texts, without the ids of transactions, in no order of a database. */
async function rowsOf(db: Database, { name, columns }: Table): Promise<string[]> {
  const names = Object.keys(columns).filter((column) => column !== 'txid')
  const list = names.map((column) => `"${column}"`).join(', ')
  const rows = await db.arrays(prepareStatement(`SELECT ${list} FROM ${name}`)([]))
  return rows.map((row) => row.map(textOf).join(' ')).sort()
}

for (const [from, to] of directions) {
  test(`rows of each table of the engine are moved [${from} to ${to}]`, async (t) => {
    const { url, app } = await openService(t, from)
    await app.close()
    const source = await openDatabase(url, { log: quietLog })
    onEnd(t, () => source.close())
    for (const table of movedTables) await insertRows(source, table)
    const targetUrl = await freshUrl(t, to)
    await moveDatabase(url, targetUrl, api)
    const target = await openDatabase(targetUrl, { log: quietLog })
    onEnd(t, () => target.close())
    for (const table of movedTables) {
      const rows = await rowsOf(source, table)
      assert.ok(rows.length >= 2, table.name)
      assert.deepEqual(await rowsOf(target, table), rows, table.name)
    }
  })
}

interface Declared {
  readonly search?: readonly ('title' | 'body')[]
  readonly isTotalStored?: boolean
}

function notes({ search = [], isTotalStored = false }: Declared): Service {
  const fields = { id: f.id(), title: f.string(), body: f.string(), size: f.int() }
  const total = f.computed(f.int().default(0)).stored()
  const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
  const options = { access, events: [], search }
  const declared = isTotalStored
    ? resource('notes', {
        ...options,
        fields: { ...fields, total },
        list: { filter: ['size', 'total'], sort: [] },
      }).compute('total', ({ size }) => size * 2)
    : resource('notes', { ...options, fields, list: { filter: ['size'], sort: [] } })
  const versions = { v1: { released: '2026-01-01' } }
  return service({ name: 'Notes', versions, resources: [declared] })
}

/** The declarations of a running installation before its move, and its unfinished work. */
const histories: readonly [
  name: string,
  before: Declared,
  after: Declared,
  interrupt?: (db: Database) => Promise<unknown>,
][] = [
  ['a search is declared from the start', { search: ['title'] }, { search: ['title'] }],
  ['a search was added', {}, { search: ['title'] }],
  ['a search was changed', { search: ['title'] }, { search: ['title', 'body'] }],
  ['a search was removed', { search: ['title'] }, {}],
  [
    'a search is being indexed',
    {},
    { search: ['title'] },
    (db) =>
      db.write(async (tx) => {
        await tx.run(sql`DELETE FROM gh_words_notes`)
        await tx.run(
          sql`INSERT INTO gh_fills (resource, part, last_key) VALUES ('notes', 'words', '')`,
        )
      }),
  ],
  ['a stored field was added', {}, { isTotalStored: true }],
  [
    'a stored field is being computed',
    {},
    { isTotalStored: true },
    (db) =>
      db.write(async (tx) => {
        await tx.run(sql`UPDATE notes SET total = 0`)
        await tx.run(
          sql`INSERT INTO gh_fills (resource, part, last_key) VALUES ('notes', 'columns', '')`,
        )
      }),
  ],
]

const observe = async (caller: Caller) =>
  Promise.all(
    ['', '?q=blue', '?q=whale', '?total=4', '?size=2'].map(async (query) => {
      const { status, body } = await caller.get(`/api/v1/notes${query}`)
      return [query, status, body.data ?? body.error]
    }),
  )

for (const [from, to] of directions) {
  for (const [name, before, after, interrupt] of histories) {
    test(`${name}: the target serves the same rows [${from} to ${to}]`, async (t) => {
      const first = await openService(t, from, { service: notes(before) })
      const key = await first.key()
      for (const [at, title] of ['Blue', 'Green', 'Blue sea'].entries()) {
        const note = { title, body: 'A whale', size: at + 1 }
        assert.equal((await first.as(key).post('/api/v1/notes', note)).status, 201)
      }
      await first.app.close()
      const declared = notes(after)
      const source = await openService(t, from, { service: declared, url: first.url, key })
      const expected = await observe(source)
      await interrupt?.(source.app.db)
      const url = await freshUrl(t, to)
      await moveDatabase(first.url, url, declared)
      const target = await openService(t, to, { service: declared, url, key })
      assert.deepEqual(await observe(target), expected)
    })
  }
}
