/**
 * §11.5: the deletion of a row reads the rows that refer to it, and an export those of its person,
 * along the index of the reference. The test reads the plans of SQLite for every reference; it
 * measures no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { createRowReferences } from '../../src/declare/resources/row-references.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Reader, Statement } from '../../src/platform/storage/database.ts'
import { fill } from './rows.ts'

const ROWS = 120

const declared = (name: string) => ({
  list: { filter: [], sort: ['id'] } as const,
  access: {
    ...{ read: `${name}:read`, create: `${name}:write` },
    ...{ update: `${name}:write`, delete: `${name}:write` },
  },
  events: [],
})
const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique() },
  ...declared('people'),
}).signsIn({ username: 'email', scopes: ['docs:read'] })
const referring = (name: string, key: undefined | 'prefix', softDelete: boolean) =>
  resource(name, {
    fields: {
      id: key ? f.id(name.slice(0, 3)) : f.id(),
      cascading: f.ref('folders').onDelete('cascade'),
      restricting: f.ref('folders'),
      cleared: f.ref('folders').nullable().onDelete('setNull'),
      person_id: f.ref('people').owner(),
      inside: f.array(f.ref('folders'), { max: 3 }),
    },
    ...declared(name),
    softDelete,
  })
const folders = resource('folders', {
  fields: { id: f.id(), name: f.string().max(20) },
  ...declared('folders'),
})
const NAMES = ['docs', 'texts', 'kept', 'coded'] as const
const FILES = service({
  name: 'Files',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    people,
    folders,
    referring('docs', undefined, true),
    referring('texts', 'prefix', true),
    referring('kept', undefined, false),
    referring('coded', 'prefix', false),
  ],
})

/** Records the statements of a reader. */
function record(reader: Reader): Statement[] {
  const statements: Statement[] = []
  const { arrays } = reader
  const recorded: Reader['arrays'] = (statement) => {
    statements.push(statement)
    return arrays.call(reader, statement)
  }
  Object.assign(reader, { arrays: recorded })
  return statements
}

test('rows that refer to a row are read along the index of the reference', async (t) => {
  const { app, as, key, post } = await openService(t, 'sqlite', { service: FILES })
  assert.equal((await post('/api/v1/people', { email: 'a@x.io' })).status, 201)
  await post('/api/v1/folders', { name: 'f' })
  for (const name of NAMES) {
    const isSoft = name === 'docs' || name === 'texts'
    const isCoded = name === 'texts' || name === 'coded'
    await fill(app.db, name, ROWS, {
      ...(isCoded && { id: `printf('${name.slice(0, 3)}_%06d', n)` }),
      ...{ cascading: '1', restricting: '1', cleared: '1', person_id: '1', inside: "'[]'" },
      ...(isSoft && { deleted_at: 'CASE WHEN n % 2 = 0 THEN n END' }),
    })
  }
  const planOf = async (statement: Statement) => {
    const explained = { ...statement, sql: `EXPLAIN QUERY PLAN ${statement.sql}` }
    const steps = await app.db.all<{ detail: string }>(explained)
    return steps.map(({ detail }) => detail).join('; ')
  }

  const { resources } = FILES.definition
  let references = 0
  for (const definition of resources.filter(({ name }) => NAMES.some((own) => own === name))) {
    const store = createRowReferences(definition)
    const fields = Object.entries(definition.fields).filter(([, { target }]) => target)
    for (const [field] of fields) {
      for (const isDeleted of definition.softDeletion ? [false, true] : [false]) {
        const statements = await app.db.write(async (tx) => {
          const recorded = record(tx)
          const reference = { field, id: 1, isDeleted }
          const first = await store.findReferenceTo(tx, 0, reference)
          await store.findReferenceTo(tx, 0, reference, first ?? { id: 1, deletedAt: 1 })
          await store.measureReferences(tx, 0, reference)
          return recorded
        })
        assert.equal(statements.length, 3)
        for (const statement of statements) {
          const plan = await planOf(statement)
          const place = `${definition.name}.${field} ${isDeleted}: ${plan}`
          assert.match(plan, new RegExp(`\\(scope=\\? AND ${field}=\\?`), place)
          assert.doesNotMatch(plan, /TEMP B-TREE|SCAN (?!referring)/, place)
          references++
        }
      }
    }
  }
  assert.equal(references, 4 * 3 * (2 + 2 + 1 + 1))

  const statements = record(app.db)
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const exported = await admin.get('/admin/users/1/export')
  assert.equal(exported.status, 200)
  const lists = statements.filter(({ sql }) => /person_id = \?.* ORDER BY/s.test(sql))
  assert.ok(lists.length > 2 * NAMES.length, `${lists.length} pages`)
  for (const list of lists) {
    const plan = await planOf(list)
    assert.match(plan, /\(scope=\? AND person_id=\?/, `${list.sql}: ${plan}`)
    assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/, plan)
  }
  const rows = exported.text
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  for (const name of NAMES) {
    const ids = rows.filter(({ table }) => table === name).map(({ row }) => row.id)
    assert.equal(ids.length, ROWS, name)
    assert.equal(new Set(ids).size, ROWS, `${name} has each row once`)
  }
})
