/**
 * §6.6: the migrations that `gatehook check` prints for a renamed field are whole, whatever indexes
 * it has; migrations that are not enough change nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf } from '../../src/declare/gate/lock.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { planStatements } from '../../src/declare/resources/migration-plan.ts'
import type { MigrationOptions, ServiceDefinition } from '../../src/declare/resources/service.ts'
import { f, resource, type Service, service } from '../../src/gatehook.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { AnyField } from '../../src/protocol/fields/fields.ts'

interface Declared {
  readonly fields: Record<string, AnyField>
  readonly list?: { filter?: string[]; sort?: (string | string[])[]; prefix?: string[] }
  readonly unique?: string[][]
  readonly search?: string[]
  readonly computed?: string
  readonly softDelete?: boolean
}

/** The declaration of each kind of index of a column. */
const kinds: Readonly<Record<string, (name: string) => Declared>> = {
  none: (name) => ({ fields: { [name]: f.string() } }),
  unique: (name) => ({ fields: { [name]: f.string().unique() } }),
  'unique, filter and sort': (name) => ({
    fields: { [name]: f.string().unique() },
    list: { filter: [name], sort: [name] },
  }),
  'unique or null': (name) => ({ fields: { [name]: f.string().nullable().unique() } }),
  'unique address': (name) => ({
    fields: { [name]: f.email().unique() },
    list: { filter: [name], sort: [name] },
  }),
  filter: (name) => ({ fields: { [name]: f.int() }, list: { filter: [name] } }),
  'filter of addresses': (name) => ({ fields: { [name]: f.email() }, list: { filter: [name] } }),
  prefix: (name) => ({ fields: { [name]: f.string() }, list: { prefix: [name] } }),
  'sort by a tuple': (name) => ({
    fields: { [name]: f.string().max(40), size: f.int() },
    list: { sort: ['size', [name, 'size']] },
  }),
  'unique tuple': (name) => ({
    fields: { [name]: f.string().max(40), size: f.int() },
    unique: [['size', name]],
  }),
  reference: (name) => ({ fields: { [name]: f.ref('shelves') }, list: { filter: [name] } }),
  'unique reference': (name) => ({ fields: { [name]: f.ref('shelves').unique() } }),
  search: (name) => ({ fields: { [name]: f.string() }, search: [name], list: { sort: [name] } }),
  'stored computed value': (name) => ({
    fields: { size: f.int(), [name]: f.computed(f.string()).stored() },
    list: { filter: [name], sort: [name] },
    computed: name,
  }),
  'value computed by a response': (name) => ({
    fields: { size: f.int(), [name]: f.computed(f.string()) },
    computed: name,
  }),
  'rows that can be restored': (name) => ({
    fields: { [name]: f.string().max(40), size: f.int() },
    list: { filter: [name], sort: ['size', [name, 'size']] },
    softDelete: true,
  }),
  'two fields': (name) => ({
    fields: { [name]: f.string().max(40), [`${name}_size`]: f.int() },
    list: { filter: [name, `${name}_size`] },
    unique: [[name, `${name}_size`]],
  }),
}

interface Release {
  readonly migrations?: readonly MigrationOptions[]
  readonly retired?: readonly string[]
}

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

function declare(
  { fields, list = {}, unique = [], search = [], computed, softDelete = false }: Declared,
  { migrations = [], retired = [] }: Release = {},
  before = '',
): Service {
  const shelves = resource('shelves', {
    fields: { id: f.id() },
    list: { filter: [], sort: [] },
    access,
    events: [],
  })
  const options = {
    fields: { id: f.id(), ...fields },
    list: { filter: [], sort: [], ...list },
    access,
    events: [],
    unique,
    search,
    retired,
    softDelete,
  }
  const plain = resource('tools', options as never)
  const tools = computed ? plain.compute(computed as never, (() => 'x') as never) : plain
  const build = new Function('tools', 'f', `return tools${before}`)
  return service({
    name: 'tools',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [shelves, build(tools, f)],
    migrations,
  })
}

/** Returns the declarations of the rename of `tag` to `code`, as `gatehook check` prints them. */
function renameOf(kind: (name: string) => Declared) {
  const old = declare(kind('tag'))
  const lock = lockOf(new Map([['v1', promisesOf(old.definition).get('v1')!]]))
  const { mend } = check(declare(kind('code')).definition, lock)
  const [stub] = mend!.stubs
  const [recipe] = mend!.migrations
  assert.doesNotMatch(recipe?.rename ?? '', /_by_(?!\w)/, 'an index has columns')
  const read = (text = ''): MigrationOptions[] => new Function(`return [${text}]`)()
  const release = (migrations: MigrationOptions[], retired: string[] = []) =>
    declare(kind('code'), { migrations, retired }, stub!.code)
  const { retired } = new Function(`return { ${recipe?.retired ?? 'retired: []'} }`)()
  const expand = read(recipe?.expand)
  return {
    old,
    renamed: release(read(recipe?.rename)),
    expanded: release(expand, retired),
    contracted: release([...expand, ...read(recipe?.contract)]),
  }
}

const start = (db: Database, { definition }: { definition: ServiceDefinition }) =>
  migrateService(db, definition)

/** Returns the indexes of the table, each without its name. */
async function indexesOf(db: Database): Promise<string[]> {
  const rows = await db.arrays({
    sql: "SELECT sql FROM sqlite_schema WHERE tbl_name = 'tools' AND type = 'index'",
    text: "SELECT indexdef FROM pg_indexes WHERE tablename = 'tools'",
    values: [],
  })
  return rows
    .flatMap(([text]) => (text === null ? [] : String(text).replaceAll('"', '')))
    .map((text) => text.replace(/INDEX \w+/, 'INDEX'))
    .sort()
}

async function verify(db: Database, api: Service, label: string): Promise<void> {
  const { statements, rejected } = await planStatements(db, api.definition)
  assert.deepEqual([statements, rejected], [[], []], label)
  const indexes = await indexesOf(db)
  assert.deepEqual(indexes, [...new Set(indexes)], `${label}: identical indexes`)
}

for (const [kind, declaration] of Object.entries(kinds)) {
  eachMigrated(`a rename has its indexes: ${kind}`, async (db) => {
    const { old, renamed } = renameOf(declaration)
    await start(db, old)
    const before = (await indexesOf(db)).map((text) => text.replaceAll('tag', 'code'))
    const plan = await planStatements(db, renamed.definition)
    assert.deepEqual(plan.rejected, [])
    await start(db, renamed)
    await verify(db, renamed, 'renamed')
    assert.deepEqual(await indexesOf(db), before.sort())
  })

  eachMigrated(`a rename beside old nodes has its indexes: ${kind}`, async (db) => {
    const { old, expanded, contracted } = renameOf(declaration)
    await start(db, old)
    const before = (await indexesOf(db)).map((text) => text.replaceAll('tag', 'code'))
    await start(db, expanded)
    await verify(db, expanded, 'expanded')
    if (db.name === 'postgres') await start(db, old)
    await start(db, contracted)
    await verify(db, contracted, 'contracted')
    assert.deepEqual(await indexesOf(db), before.sort())
  })
}

test('a duplicate is a conflict of its name at old and new nodes', async (t) => {
  const { old, expanded } = renameOf(kinds.unique!)
  const before = await openService(t, 'postgres', { service: old })
  const now = await openService(t, 'postgres', { service: expanded, url: before.url })
  assert.equal((await before.post('/api/v1/tools', { tag: 'a' })).status, 201)
  for (const [app, path, body, field] of [
    [before, '/api/v1/tools', { tag: 'a' }, '/tag'],
    [now, '/api/v2/tools', { code: 'a' }, '/code'],
    [now, '/api/v1/tools', { tag: 'a' }, '/tag'],
  ] as const) {
    const reply = await app.post(path, body)
    assert.deepEqual([reply.status, reply.body.errors[0].pointer], [409, field])
  }
})

const rename = 'ALTER TABLE tools RENAME COLUMN tag TO code'
const insufficient: Readonly<Record<string, readonly string[]>> = {
  'a rename without its unique index': [rename],
  'a second migration that is not enough': ['UPDATE tools SET size = size + 1', rename],
  'a rename to another name': ['ALTER TABLE tools RENAME COLUMN tag TO kode'],
}

for (const [name, texts] of Object.entries(insufficient)) {
  eachMigrated(`migrations that are not enough change nothing: ${name}`, async (db) => {
    const declared = (field: string) => ({
      fields: { [field]: f.string().unique(), size: f.int() },
      list: { filter: [field], sort: [field] },
    })
    await start(db, declare(declared('tag')))
    await db.write((tx) =>
      tx.run(sql`INSERT INTO tools (scope, tag, size) VALUES (2, 'a', 1), (2, 'b', 2)`),
    )
    const stateOf = async () => ({
      columns: await db.columns('tools'),
      indexes: await db.indexes('tools'),
      rows: await db.arrays(sql`SELECT id, tag, size FROM tools ORDER BY id`),
      migrations: await db.arrays(sql`SELECT number FROM gh_service_migrations`),
    })
    const before = await stateOf()
    const migrations = texts.map((text, at) => ({
      number: at + 1,
      name: `part ${at + 1}`,
      table: 'tools',
      sql: text,
    }))
    const next = declare(declared('code'), { migrations })
    const { rejected } = await planStatements(db, next.definition)
    assert.match(rejected.join('\n'), /tools_unique_code is new|tools\.code is new/)
    assert.deepEqual(await stateOf(), before)
    await assert.rejects(start(db, next), /need a reviewed migration/)
    assert.deepEqual(await stateOf(), before)
    await start(db, declare(declared('tag')))
  })
}
