/**
 * §7.9, §7.10, §11.5: a list passes rows that its caller reads. Deleted rows, and those of other
 * customers, modes and persons, add nothing to its work, whatever filters and sorts. The tests
 * count the passed rows of each statement; they measure no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { columnType } from '../../src/declare/resources/column-types.ts'
import type { ResourceDefinition } from '../../src/declare/resources/resource.ts'
import { DELETED_WORD, deletedFilter } from '../../src/declare/resources/soft-deletion.ts'
import {
  deletedCollection,
  resourceCollection,
  wordTable,
} from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import type { AnyField, FieldSpec } from '../../src/protocol/fields/fields.ts'
import { foldedColumn } from '../../src/protocol/fields/folding.ts'
import { fieldKindOf } from '../../src/protocol/fields/kinds/table.ts'
import { relatedName } from '../../src/protocol/lists/collection.ts'
import type { Filter } from '../../src/protocol/lists/filter.ts'
import type { ListRequest } from '../../src/protocol/lists/grammar.ts'
import { type ListTask, readCursorPage, readNumberedPage } from '../../src/protocol/lists/page.ts'
import { kinds, nameOfKind } from '../fixtures/every-kind.ts'
import { countPassedRows } from './passed-rows.ts'
import { run, testScope } from './rows.ts'

/** Rows of each kind that lie in the way, before those that the caller reads. */
const OTHERS = 2_000
const OWN = 30
const LIMIT = 5
/** Of a statement, which can look up each of the rows in other tables. */
const PASSED_MAX = 5 * OWN

type Fields = Record<never, never>
const uniqueName = (name: string) => `u${name.slice(1)}`
const ordered = Object.entries(kinds).filter(
  ([kind, { spec }]) => kind !== 'ref' && fieldKindOf(spec).json !== 'any',
)
const everyKind = Object.fromEntries(
  ordered.flatMap(([kind, field]) => [
    [nameOfKind(kind), field],
    [uniqueName(nameOfKind(kind)), field.unique()],
  ]),
)
const fewKinds: Record<string, AnyField> = {
  ...{ a_string: f.string(), a_int: f.int(), a_email: f.email() },
  ...{ u_string: f.string().unique(), u_int: f.int().unique(), u_email: f.email().unique() },
}
const isText = (spec: FieldSpec) => columnType(spec) === 'text'

const declared = (name: string) => ({
  access: {
    ...{ read: `${name}:read`, create: `${name}:write` },
    ...{ update: `${name}:write`, delete: `${name}:write` },
  },
  events: [],
})
const lists = (fields: Record<string, AnyField>) => {
  const names = Object.keys(fields) as never[]
  const texts = names.filter((name) => fieldKindOf(fields[name]!.spec).isText)
  return { list: { filter: names, prefix: texts, sort: names }, search: ['a_string'] as never[] }
}
const owned = <I extends AnyField>(name: string, id: I, fields: typeof fewKinds) => ({
  fields: { id, ...(fields as Fields), person_id: f.ref('people').owner() },
  ...{ ...lists(fields), ...declared(name) },
})
const inFolders = <I extends AnyField>(name: string, id: I) => ({
  fields: { id, ...(fewKinds as Fields), folder_id: f.ref('folders', 'fol') },
  ...{ ...lists(fewKinds), ...declared(name) },
})
const related = ['soft.u_email', 'soft.u_string', 'soft.a_string', 'coded.u_email', 'coded.u_int']

const THINGS = service({
  name: 'Things',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('people', {
      fields: { id: f.id(), email: f.email().unique() },
      list: { filter: [], sort: ['id'] },
      ...declared('people'),
    }).signsIn({ username: 'email', scopes: ['people:read'] }),
    resource('folders', {
      fields: { id: f.id('fol'), person_id: f.ref('people').owner() },
      list: { filter: [], sort: ['id'] },
      ...declared('folders'),
      softDelete: true,
    }),
    resource('hard', owned('hard', f.id(), everyKind)),
    resource('soft', { ...owned('soft', f.id(), everyKind), softDelete: true }),
    resource('hard_coded', owned('hard_coded', f.id('hac'), fewKinds)),
    resource('soft_coded', {
      ...owned('soft_coded', f.id('soc'), fewKinds),
      softDelete: true,
      unique: [['a_int', 'u_int']] as never,
    }),
    resource('hard_inside', inFolders('hard_inside', f.id())).ownedBy('folder_id'),
    resource('soft_inside', { ...inFolders('soft_inside', f.id()), softDelete: true }).ownedBy(
      'folder_id',
    ),
    resource('coded_inside', {
      ...inFolders('coded_inside', f.id('coi')),
      softDelete: true,
    }).ownedBy('folder_id'),
    resource('notes', {
      fields: { id: f.id(), soft_id: f.ref('soft'), coded_id: f.ref('soft_coded', 'soc') },
      list: { filter: related as never[], sort: related as never[] },
      ...declared('notes'),
    }),
  ],
})
const { resources } = THINGS.definition
const things = resources.filter(({ name }) => !['people', 'folders', 'notes'].includes(name))

const DIGITS = "substr('0000000' || n, -7)"
const POSTGRES_DIGITS = "lpad(CAST(n AS TEXT), 7, '0')"

/** Returns the SQL of the value of a field in row `n`: the same in all rows, unless unique. */
function cellOf(spec: FieldSpec, digits: string): string {
  if (spec.idPrefix) return `'${spec.idPrefix}_' || ${digits}`
  if (!isText(spec)) return spec.unique || spec.kind === 'id' ? 'n' : '1'
  return spec.unique ? `'word' || ${digits}` : "'word'"
}

interface Part {
  readonly scope: number
  readonly person: number
  readonly deleted?: boolean
  readonly from: number
  readonly count: number
}

async function insert({ app: { db } }: TestApp, { fields, ...of }: ResourceDefinition, part: Part) {
  const { scope, person, deleted = false, from, count } = part
  const digits = db.name === 'sqlite' ? DIGITS : POSTGRES_DIGITS
  const cells = Object.entries(fields).flatMap(([name, spec]) => {
    if (name === 'person_id') return [[name, String(person)]]
    if (name === 'folder_id') return [[name, `'fol_${person}'`]]
    if (name === 'deleted_at') return [[name, deleted ? '5' : 'NULL']]
    const cell = cellOf(spec, digits)
    const folded = fieldKindOf(spec).isFolded ? [[foldedColumn(name), cell]] : []
    return [[name, cell], ...folded]
  })
  const numbers = `WITH RECURSIVE g(n) AS (SELECT CAST(${from} AS BIGINT)
    UNION ALL SELECT n + 1 FROM g WHERE n < ${from + count - 1})`
  const names = cells.map(([name]) => name).join(', ')
  await run(
    db,
    `${numbers} INSERT INTO ${of.name} (scope, ${names})
     SELECT ${scope}, ${cells.map(([, cell]) => cell).join(', ')} FROM g`,
  )
  if (of.search.length === 0) return
  await run(
    db,
    `${numbers} INSERT INTO ${wordTable(of)} (scope, id, word)
     SELECT ${scope}, ${cellOf(fields.id!, digits)}, '${deleted ? DELETED_WORD : ''}word' FROM g`,
  )
}

const [OTHER, PERSON, OF_MODE, OF_CUSTOMER] = [1, 2, 3, 4]
/** The first number of the rows of the person, and of the deleted rows of the other mode. */
const FIRST_OWN = 10_001
const FIRST_DELETED = 20_001
const FIRST_OF_OTHER = 30_001

async function fillAll(own: TestApp): Promise<{ scope: Scope; otherMode: Scope }> {
  const { db } = own.app
  const scope = await testScope(db)
  const [otherMode, customer] = [(scope ^ 1) as Scope, scope + 2]
  const scopes = { [OTHER]: scope, [PERSON]: scope, [OF_MODE]: otherMode, [OF_CUSTOMER]: customer }
  for (const [person, of] of Object.entries(scopes)) {
    await run(
      db,
      `INSERT INTO people (scope, id, email, gh_folded_email)
       VALUES (${of}, ${person}, 'p${person}@x.io', 'p${person}@x.io')`,
    )
    await run(
      db,
      `INSERT INTO folders (scope, id, person_id) VALUES (${of}, 'fol_${person}', ${person})`,
    )
  }
  for (const definition of things) {
    const parts: Part[] = [
      { scope: otherMode, person: OF_MODE, from: 1, count: OTHERS },
      { scope: customer, person: OF_CUSTOMER, from: 2_001, count: OTHERS },
      { scope, person: PERSON, deleted: true, from: 4_001, count: OTHERS },
      { scope, person: OTHER, deleted: true, from: 6_001, count: OTHERS },
      { scope, person: PERSON, from: FIRST_OWN, count: OWN },
      { scope: otherMode, person: OF_MODE, deleted: true, from: FIRST_DELETED, count: OWN },
    ]
    for (const part of parts) {
      if (!part.deleted || definition.softDeletion) await insert(own, definition, part)
    }
  }
  await run(
    db,
    `WITH RECURSIVE g(n) AS (SELECT CAST(${FIRST_OWN} AS BIGINT)
       UNION ALL SELECT n + 1 FROM g WHERE n < ${FIRST_OWN + OWN - 1})
     INSERT INTO notes (scope, soft_id, coded_id) SELECT ${scope}, n, 'soc_00' || n FROM g`,
  )
  return { scope, otherMode }
}

async function analyze({ app: { db } }: TestApp) {
  if (db.name === 'sqlite') return
  await db.migrate(async (_, ddl) => {
    for (const { name } of resources) await ddl(`ANALYZE ${name}`)
    for (const definition of things) await ddl(`ANALYZE ${wordTable(definition)}`)
  })
}

type Requested = Pick<ListRequest, 'sort' | 'filters' | 'terms'>

const sortedBy = (column: string, descending = false) =>
  column === 'id'
    ? [{ column, descending }]
    : [
        { column, descending },
        { column: 'id', descending },
      ]
const PLAIN: Requested = { sort: sortedBy('id'), filters: [], terms: [] }
const TERM = { first: 'word', end: 'wore' }

/** The filters of a field by operator; `own`: the number of a row that the list has. */
function filtersOf(column: string, spec: FieldSpec, own: number): [string, Filter[]][] {
  const number = spec.unique ? own : 1
  const value = !isText(spec) ? number : spec.unique ? `word00${own}` : 'word'
  const at = (operator: Filter['operator'], ...values: (string | number)[]): Filter => {
    return { column, operator, values, parameter: column }
  }
  return [
    ['eq', [at('eq', value)]],
    ['in', [at('in', value, isText(spec) ? 'x' : 900_000)]],
    ['gte', [at('gte', isText(spec) ? 'w' : 0)]],
    ['lte', [at('lte', isText(spec) ? 'x' : 900_000)]],
    ...(isText(spec)
      ? ([['prefix', [at('gte', 'word'), at('lt', 'wore')]]] as [string, Filter[]][])
      : []),
  ]
}

interface RequestOptions {
  readonly own: number
  readonly terms?: ListRequest['terms']
  /** Whether ranges of unique indexes, which have all rows, are left out. */
  readonly isOfDeleted?: true
}

/** Returns the requests of a list by their names. */
function* requestsOf(
  fields: readonly (readonly [column: string, spec: FieldSpec])[],
  { own, terms = [], isOfDeleted }: RequestOptions,
): Generator<[string, Requested]> {
  yield ['id', PLAIN]
  yield ['-id', { ...PLAIN, sort: sortedBy('id', true) }]
  if (terms.length > 0) yield ['q', { ...PLAIN, terms }]
  for (const [at, [column, spec]] of fields.entries()) {
    const sort = sortedBy(column)
    const other = sortedBy(fields[(at + 1) % fields.length]![0])
    yield [`sort=${column}`, { ...PLAIN, sort }]
    yield [`sort=-${column}`, { ...PLAIN, sort: sortedBy(column, true) }]
    if (terms.length > 0) yield [`q sort=${column}`, { ...PLAIN, sort, terms }]
    for (const [operator, filters] of filtersOf(column, spec, own)) {
      if (isOfDeleted && spec.unique && operator !== 'eq' && operator !== 'in') continue
      const name = `${column}[${operator}]`
      yield [name, { ...PLAIN, filters }]
      yield [`${name} sort=${column}`, { ...PLAIN, filters, sort }]
      yield [`${name} sort=${other[0]!.column}`, { ...PLAIN, filters, sort: other }]
      if (terms.length > 0) yield [`${name} q`, { ...PLAIN, filters, terms }]
    }
  }
}

/** Reads a page and its neighbours, and a numbered page with its total. */
async function readPages(task: ListTask): Promise<[page: number, total: number]> {
  const page = await readCursorPage(task, undefined)
  const next = page.next && (await readCursorPage(task, page.next))
  if (next?.prev) await readCursorPage(task, next.prev)
  return [page.rows.length, (await readNumberedPage(task)).total]
}

const requestOf = (request: Requested): ListRequest => ({
  ...{ style: 'cursor', isStyleExplicit: false, limit: LIMIT, offset: 0, page: 1 },
  ...{ afterId: undefined, fields: undefined, linkParameters: [], ...request },
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a list passes no rows that its caller does not read [${kind}]`, async (t) => {
    const own = await openService(t, kind, { service: THINGS })
    const { scope, otherMode } = await fillAll(own)
    const passed = countPassedRows(t, own)
    // The engine counts the same ranges on both databases; PostgreSQL explains each statement.
    const isSqlite = kind === 'sqlite'
    const isFew = ({ name }: ResourceDefinition) =>
      isSqlite ? name !== 'hard' && name !== 'soft' : name === 'coded_inside'
    const few = things.filter(isFew)
    const tested = isSqlite ? /^[au]_/ : /^(a_int|u_string)$/
    const mistakes: string[] = []
    let requests = 0
    const check = async (
      name: string,
      task: Pick<ListTask, 'collection' | 'rowScope'>,
      request: Requested,
    ) => {
      const isOne = /u_\w+"?\[(eq|in)/.test(name)
      // The counter of the test's rows is 0.
      const isCounted = request.filters.length + request.terms.length === 0
      const isTotal = !isCounted || task.rowScope.owner !== undefined
      const [page, total] = await readPages({
        ...{ ...task, db: passed.source, customer: 'c' as never, encode: () => '' },
        request: requestOf(request),
      })
      const { rows, statement } = passed.take()
      requests += 1
      assert.equal(page, isOne ? 1 : LIMIT, name)
      if (isTotal) assert.equal(total, isOne ? 1 : OWN, name)
      if (rows > PASSED_MAX) mistakes.push(`${name}: ${rows} rows\n${statement}`)
    }
    const checkThings = async (definitions: readonly ResourceDefinition[], owner?: number) => {
      for (const definition of definitions) {
        const { name, fields } = definition
        const collection = resourceCollection(definition, resources, { database: kind })
        const columns = Object.entries(fields).filter(([field]) => tested.test(field))
        const terms = few.includes(definition) ? [TERM] : []
        for (const [query, request] of requestsOf(columns, { own: FIRST_OWN, terms })) {
          const place = `${name} ${owner ?? ''} ${query}`
          await check(place, { collection, rowScope: { scope, owner } }, request)
        }
        if (!definition.softDeletion || owner || !few.includes(definition)) continue
        const deleted = deletedCollection(definition, collection)
        const term = { first: `${DELETED_WORD}word`, end: `${DELETED_WORD}wore` }
        const rowScope = { scope: otherMode, owner }
        for (const [query, request] of requestsOf(columns, {
          own: FIRST_DELETED,
          terms: [term],
          isOfDeleted: true,
        })) {
          const filters = [...request.filters, deletedFilter]
          const place = `${name} deleted ${query}`
          await check(place, { collection: deleted, rowScope }, { ...request, filters })
        }
      }
    }
    await analyze(own)
    await checkThings(isSqlite ? things : few)
    const notes = resources.find(({ name }) => name === 'notes')!
    const collection = resourceCollection(notes, resources, { database: kind })
    const columns = related.slice(0, isSqlite ? undefined : 1).map((path) => {
      const [, field] = path.split('.')
      return [relatedName(path), fewKinds[field!]!.spec] as const
    })
    for (const [query, request] of requestsOf(columns, { own: FIRST_OWN })) {
      const place = `notes ${query}`
      await check(place, { collection, rowScope: { scope, owner: undefined } }, request)
    }
    for (const definition of few) {
      const part = { scope, person: OTHER, from: FIRST_OF_OTHER, count: OTHERS }
      await insert(own, definition, part)
    }
    await analyze(own)
    await checkThings(few, PERSON)
    assert.ok(requests > (isSqlite ? 2_000 : 50), `${requests} requests`)
    assert.deepEqual(mistakes.slice(0, 20), [], `${mistakes.length} of ${requests}`)
  })
}
