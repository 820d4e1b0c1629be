/**
 * §6.6: the recipe of a rename that `gatehook check` prints: nodes of the old and the new
 * declaration run on one PostgreSQL, read each other's writes, and restart.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openForTest } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { type RenamedColumn, renameMigrations } from '../../src/declare/gate/online-rename.ts'
import type { MigrationOptions } from '../../src/declare/resources/service.ts'
import { f, resource, type Service, service } from '../../src/gatehook.ts'

const access = { read: 'u:read', create: 'u:write', update: 'u:write', delete: false } as const
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }

const before = service({
  name: 'people',
  versions,
  resources: [
    resource('people', {
      fields: { id: f.id(), name: f.string(), age: f.int().default(0) },
      list: { filter: ['name'], sort: ['name'] },
      access,
      events: ['person.updated'],
    }),
  ],
})

const after = (migrations: readonly MigrationOptions[], retired: readonly string[]): Service =>
  service({
    name: 'people',
    versions,
    migrations,
    resources: [
      resource('people', {
        fields: { id: f.id(), full_name: f.string(), age: f.int().default(0) },
        list: { filter: ['full_name'], sort: ['full_name'] },
        access,
        events: ['person.updated'],
        retired,
      }).before('v2', {
        why: 'A name is full.',
        had: { name: f.string() },
        hadNot: ['full_name'],
        up: (old) => ({ full_name: old.name }),
        down: (row) => ({ name: row.full_name }),
        renamed: { name: 'full_name' },
      }),
    ],
  })

const NO_INDEXES = { sqlite: [], postgres: [] }

const onlineRename = (column: RenamedColumn) =>
  renameMigrations([{ table: 'people', columns: [column], indexes: NO_INDEXES }], 1)[0]!

const recipe = onlineRename({
  old: 'name',
  now: 'full_name',
  field: { kind: 'string', write: 'required', nullable: false },
})
const read = (code: string): MigrationOptions[] => new Function(`return [${code}]`)()
const expand = read(recipe.expand)
const contract = [...expand, ...read(recipe.contract)]

const open = (t: TestContext, kind: 'sqlite' | 'postgres', api: Service, url?: string) =>
  openService(t, kind, { service: api, ...(url !== undefined && { url }) })

test('nodes of both declarations read and write each name', async (t) => {
  const old = await open(t, 'postgres', before)
  await old.post('/api/v1/people', { name: 'Ada' })
  const now = await open(t, 'postgres', after(expand, ['name']), old.url)
  const names = async () => [
    (await old.get('/api/v1/people')).body.data.map((row: { name: string }) => row.name),
    (await now.get('/api/v2/people')).body.data.map((row: { full_name: string }) => row.full_name),
    (await now.get('/api/v1/people')).body.data.map((row: { name: string }) => row.name),
  ]
  const all = (...list: string[]) => [list, list, list]
  assert.deepEqual(await names(), all('Ada'))
  assert.equal((await old.post('/api/v1/people', { name: 'Bo' })).status, 201)
  assert.equal((await now.post('/api/v2/people', { full_name: 'Cy' })).status, 201)
  assert.equal((await now.post('/api/v1/people', { name: 'Di' })).status, 201)
  assert.deepEqual(await names(), all('Ada', 'Bo', 'Cy', 'Di'))
  assert.equal((await old.patch('/api/v1/people/3', { name: 'Cyd' })).status, 200)
  assert.equal((await now.patch('/api/v2/people/2', { full_name: 'Bob' })).status, 200)
  assert.equal((await old.patch('/api/v1/people/1', { age: 36 })).status, 200)
  assert.deepEqual(await names(), all('Ada', 'Bob', 'Cyd', 'Di'))
  const restarted = await open(t, 'postgres', before, old.url)
  assert.equal((await restarted.get('/api/v1/people?name=Bob')).body.data.length, 1)

  const contracted = await open(t, 'postgres', after(contract, []), old.url)
  assert.equal((await contracted.post('/api/v2/people', { full_name: 'Ed' })).status, 201)
  assert.equal((await now.get('/api/v2/people/5')).body.full_name, 'Ed')
  const db = await openForTest(t, old.url)
  const columns = (await db.columns('people')).map(({ name }) => name)
  assert.deepEqual(columns, ['scope', 'id', 'age', 'full_name'])
})

test('writes of both nodes at once leave the names equal', async (t) => {
  const old = await open(t, 'postgres', before)
  const now = await open(t, 'postgres', after(expand, ['name']), old.url)
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const reply =
        n % 2 === 0
          ? await old.post('/api/v1/people', { name: `n${n}` })
          : await now.post('/api/v2/people', { full_name: `n${n}` })
      return reply.status
    }),
  )
  assert.deepEqual(new Set(statuses), new Set([201]))
  const ofOld = (await old.get('/api/v1/people')).body.data
  const ofNow = (await now.get('/api/v1/people')).body.data
  assert.equal(ofOld.length, 20)
  assert.deepEqual(ofNow, ofOld)
})

test('SQLite, which has one node, renames the column', async (t) => {
  const old = await open(t, 'sqlite', before)
  await old.post('/api/v1/people', { name: 'Ada' })
  await old.app.close()
  const now = await open(t, 'sqlite', after(contract, []), old.url)
  assert.equal((await now.get('/api/v2/people/1')).body.full_name, 'Ada')
})

test('the recipes of several tables have all numbers from the next one', () => {
  const field = { kind: 'string', write: 'required', nullable: false } as const
  const columns = [
    { old: 'a', now: 'b', field },
    { old: 'c', now: 'd', field: { ...field, nullable: true } },
  ]
  const recipes = renameMigrations(
    [
      { table: 'people', columns, indexes: NO_INDEXES },
      { table: 'pets', columns: columns.slice(1), indexes: NO_INDEXES },
    ],
    4,
  )
  const numbers = (code: string) => read(code).map(({ number }) => number)
  assert.deepEqual(
    recipes.map(({ rename, expand: first, contract: last }) => [rename, first, last].map(numbers)),
    [
      [[4], [4, 5, 6], [9]],
      [[5], [7, 8], [10]],
    ],
  )
})

test('a retired column is no field', () => {
  assert.throws(() => after([], ['full_name']), /retired: full_name is a field/)
  assert.throws(() => after([], [7 as never]), /retired is an array of column names/)
})

test('an e-mail address and its folded text are renamed together', async (t) => {
  const declare = (mail: string, rest: { migrations?: MigrationOptions[]; retired?: string[] }) =>
    service({
      name: 'people',
      versions: { v1: { released: '2025-01-01' } },
      migrations: rest.migrations ?? [],
      resources: [
        resource('people', {
          fields: { id: f.id(), [mail]: f.email() },
          list: { filter: [mail], sort: [] },
          access,
          events: [],
          retired: rest.retired ?? [],
        }),
      ],
    })
  const renamed = onlineRename({
    old: 'mail',
    now: 'email',
    field: { kind: 'email', write: 'required', nullable: false },
  })
  const migrations = read(renamed.expand)
  const all = [...migrations, ...read(renamed.contract)]
  const idsOf = async (app: TestApp, query: string) =>
    (await app.get(`/api/v1/people?${query}`)).body.data.map((row: { id: number }) => row.id)

  const old = await open(t, 'postgres', declare('mail', {}))
  await old.post('/api/v1/people', { mail: 'Öz@x.example' })
  const now = await open(
    t,
    'postgres',
    declare('email', { migrations, retired: ['mail'] }),
    old.url,
  )
  await old.post('/api/v1/people', { mail: 'ÄZ@x.example' })
  await now.post('/api/v1/people', { email: 'ÜZ@x.example' })
  assert.equal((await old.patch('/api/v1/people/1', { mail: 'ÉZ@x.example' })).status, 200)
  for (const [id, text] of ['éz', 'äz', 'üz'].entries()) {
    const address = encodeURIComponent(`${text}@X.example`)
    assert.deepEqual(await idsOf(old, `mail=${address}`), [id + 1])
    assert.deepEqual(await idsOf(now, `email=${address}`), [id + 1])
  }
  const contracted = await open(t, 'postgres', declare('email', { migrations: all }), old.url)
  assert.deepEqual(await idsOf(contracted, 'email=%C3%A9z@x.example'), [1])
  const columns = (await (await openForTest(t, old.url)).columns('people')).map(({ name }) => name)
  assert.deepEqual(columns, ['scope', 'id', 'email', 'gh_folded_email'])

  const file = await open(t, 'sqlite', declare('mail', {}))
  await file.post('/api/v1/people', { mail: 'Öz@x.example' })
  await file.app.close()
  const reopened = await open(t, 'sqlite', declare('email', { migrations: all }), file.url)
  assert.deepEqual(await idsOf(reopened, 'email=%C3%B6z@x.example'), [1])
})
