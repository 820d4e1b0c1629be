/**
 * §15.9: lists filter and sort by fields of the rows to which rows refer. Operators and rights are
 * those of the field; a row that the caller does not reach matches nothing, and is null in a sort.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import type { RelatedPath } from '../../src/declare/resources/list-options.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { RowOf } from '../../src/protocol/fields/fields.ts'
import { valueListText } from '../../src/protocol/lists/value-list.ts'
import {
  type AnyRow,
  compareValues,
  entries,
  FILTERS,
  fieldOf,
  ledger,
  type Path,
  type Reached,
  reachedBy,
  relatedRow,
  rowsOf,
  selects,
} from '../lists/related.ts'
import { follow, refused, styles } from '../lists/rows.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const ENTRIES = '/api/v2/entries'
const labels = [null, '', 'a', 'B', 'ß', 'a,"b', '😀', 'a']
const dues = [null, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z']
const prices = ['1.00', '-2.50', '10.00', '1.00']

async function created(app: Pick<TestApp, 'post'>, name: string, body: object): Promise<AnyRow> {
  const reply = await app.post(`/api/v2/${name}`, body)
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

/** Creates rows of two people, with ties, nulls and deleted rows. */
async function fillLedger(
  app: Pick<TestApp, 'get' | 'post' | 'delete'>,
  people: readonly AnyRow[],
): Promise<void> {
  const accounts: AnyRow[] = []
  for (let n = 0; n < 16; n++) {
    const account = await created(app, 'accounts', {
      person_id: people[n % people.length]!.id,
      label: labels[n % labels.length],
      rank: n % 5 === 4 ? null : (n % 4) - 1,
      due: dues[n % 3],
      active: n % 3 === 0,
      state: n % 2 ? 'old' : 'new',
      price: prices[n % 4],
      metadata: n % 4 === 0 ? { key: 'k' } : {},
    })
    accounts.push(account)
  }
  const notes: AnyRow[] = []
  for (let n = 0; n < 9; n++) {
    const account_id = n % 4 === 3 ? null : accounts[(n * 5) % 16]!.id
    notes.push(await created(app, 'notes', { account_id, text: `n${n % 3}` }))
  }
  for (let n = 0; n < 40; n++) {
    const account_id = n % 7 === 6 ? null : accounts[(n * 3) % 16]!.id
    const kind = n % 2 ? 'a' : 'b'
    await created(app, 'entries', { account_id, note_id: notes[n % 9]!.id, kind })
  }
  assert.equal((await app.delete(`/api/v2/accounts/${accounts[15]!.id}`)).status, 204)
  const [first] = await rowsOf(app, ENTRIES)
  assert.equal((await app.delete(`${ENTRIES}/${first!.id}`)).status, 204)
}

type Get = Pick<TestApp, 'get'>

/** Returns the callers by what each reaches. */
async function callersOf(app: TestApp): Promise<Record<string, Get>> {
  const { operator, anonymous, createPerson, token } = await openPeople(app)
  const { body: other } = await operator.post('/admin/customers', { name: 'Other' })
  const all = ['entries:read', 'notes:read', 'accounts:read', 'people:read', 'entries:all']
  const people = [await createPerson('ann', { pay: 3 }), await createPerson('bob', { scopes: all })]
  await fillLedger(app, people)
  const foreign = {
    'other mode': app.as(await app.key({ mode: 'live' })),
    'other customer': app.as(await app.key({ customer: other.id })),
  }
  for (const caller of Object.values(foreign)) {
    const person = await created(caller, 'people', { name: 'ann', email: emailOf('ann') })
    await fillLedger(caller, [person])
  }
  const bearer = async (name: string): Promise<Get> => {
    const headers = bearerOf(await token(emailOf(name)))
    return { get: (path) => anonymous.get(path, headers) }
  }
  const key = async (...scopes: string[]) => app.as(await app.key({ scopes }))
  return {
    all: app,
    'without people': await key('entries:read', 'notes:read', 'accounts:read'),
    'without accounts': await key('entries:read', 'notes:read', 'people:read'),
    'entries only': await key('entries:read'),
    person: await bearer('ann'),
    'person with all entries': await bearer('bob'),
    ...foreign,
  }
}

const seesPay = ['all', 'other mode', 'other customer']
const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null']
const nullable: readonly Path[] = [
  'account.label',
  'account.rank',
  'account.due',
  'account.person.pay',
  'note.account.rank',
]

const valueIn = (reached: Reached, row: AnyRow, path: Path): unknown => {
  const related = relatedRow(reached, row, path)
  return related && (related[fieldOf(path)] ?? null)
}

/** Returns the values that a filter of each path compares. */
function valuesOf(reached: Reached, rows: readonly AnyRow[], path: Path): unknown[] {
  const values = rows.map((row) => valueIn(reached, row, path))
  return [...new Set(values.filter((value) => value !== undefined && value !== null))]
}

const idsOf = (rows: readonly AnyRow[]): number[] => rows.map(({ id }) => id)

eachService(
  'each operator selects by the field of each row in reach, and [null] never one out of reach',
  async (app) => {
    const callers = await callersOf(app)
    const whole = await reachedBy(app)
    const rows = await rowsOf(app, ENTRIES)
    let selected = 0
    for (const [name, caller] of Object.entries(callers)) {
      const reached = await reachedBy(caller)
      const listed = await rowsOf(caller, ENTRIES)
      for (const path of FILTERS) {
        if (path === 'account.person.pay' && !seesPay.includes(name)) continue
        const values = valuesOf(whole, rows, path).slice(0, name === 'all' ? 3 : 1)
        for (const operator of operators) {
          if (operator === 'null' && !nullable.includes(path)) continue
          const texts = operator === 'null' ? ['true', 'false'] : values
          const operands = operator === 'in' ? [texts] : texts.map((text) => [text])
          for (const given of operands) {
            const text = operator === 'in' ? valueListText(given.map(String)) : String(given[0])
            const parameter = operator === 'eq' ? path : `${path}[${operator}]`
            const query = `${ENTRIES}?${parameter}=${encodeURIComponent(text)}`
            const expected = idsOf(
              listed.filter((row) => selects(path, operator, valueIn(reached, row, path), given)),
            )
            assert.deepEqual(idsOf(await rowsOf(caller, query)), expected, `${name}: ${query}`)
            selected += expected.length
          }
        }
      }
    }
    assert.ok(selected > 2000, String(selected))
  },
  { service: ledger },
)

eachService(
  'each path sorts in both directions, forwards and back, with rows out of reach as null',
  async (app) => {
    const callers = await callersOf(app)
    for (const [name, caller] of Object.entries(callers)) {
      const reached = await reachedBy(caller)
      const listed = await rowsOf(caller, ENTRIES)
      for (const path of FILTERS) {
        if (path === 'account.person.pay' && !seesPay.includes(name)) continue
        for (const [sign, filter] of [
          ['', ''],
          ['-', ''],
          ['', '&kind=a'],
          ['-', '&account.rank[gte]=0'],
        ] as const) {
          const rows = listed.filter((row) => {
            if (filter === '') return true
            if (filter === '&kind=a') return row.kind === 'a'
            return selects('account.rank', 'gte', valueIn(reached, row, 'account.rank'), [0])
          })
          const direction = sign === '-' ? -1 : 1
          const keyOf = (row: AnyRow) => valueIn(reached, row, path) ?? null
          const expected = idsOf(
            [...rows].sort(
              (left, right) =>
                direction * (compareValues(path, keyOf(left), keyOf(right)) || left.id - right.id),
            ),
          )
          const query = `${ENTRIES}?sort=${sign}${path}${filter}`
          const words = `${name}: ${query}`
          const pages = await follow(caller, `${query}&limit=16`)
          const forward = pages.map((page) => idsOf(page.body.data))
          assert.deepEqual(forward.flat(), expected, words)
          const last = pages.at(-1)!.body.cursors.prev
          if (last === null) continue
          const back = await follow(caller, `${query}&limit=16&cursor=${last}`, 'prev')
          const backward = back.map((page) => idsOf(page.body.data)).reverse()
          assert.deepEqual(backward, forward.slice(0, -1), `back: ${words}`)
        }
      }
    }
  },
  { service: ledger },
)

eachService(
  'every style pages, counts and links by fields of other rows',
  async (app) => {
    const { all } = await callersOf(app)
    const filter = 'account.rank[gte]=0&account.state=new'
    const expected = idsOf(await rowsOf(all!, `${ENTRIES}?${filter}`))
    for (const style of styles) {
      const size = style === 'page' || style === 'hypermedia' ? 'per_page=4' : 'limit=4'
      const path = `${ENTRIES}?${filter}&${size}&pagination=${style}`
      const pages = await follow(all!, path)
      assert.deepEqual(
        pages.flatMap((page) => idsOf(page.body.data)),
        expected,
        style,
      )
      if (['cursor', 'keyset'].includes(style)) continue
      for (const page of pages) assert.equal(page.headers['x-total-count'], String(expected.length))
    }
    const sorted = await follow(
      all!,
      `${ENTRIES}?sort=-account.label&per_page=9&pagination=hypermedia`,
    )
    assert.deepEqual(
      sorted.flatMap((page) => idsOf(page.body.data)),
      idsOf(await rowsOf(all!, `${ENTRIES}?sort=-account.label`)),
    )
    const entry = await rowsOf(all!, `${ENTRIES}?account.metadata[key]=k`)
    const reached = await reachedBy(all!)
    const holding = (await rowsOf(all!, ENTRIES)).filter(
      (row) => relatedRow(reached, row, 'account.rank')?.metadata.key === 'k',
    )
    assert.deepEqual(idsOf(entry), idsOf(holding))
    assert.ok(entry.length > 0)
    const exported = await all!.get(`${ENTRIES}?${filter}`, { accept: 'application/x-ndjson' })
    const lines = exported.text.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).id),
      expected,
    )
  },
  { service: ledger },
)

const reading = ledger.route({
  method: 'GET',
  path: '/walks/:sort',
  scope: 'entries:read',
  summary: 'All pages of a list',
  async handle({ params, read }) {
    const ids: number[] = []
    const filter = { 'account.due': { gte: Date.UTC(2026, 0, 1) }, 'account.state': 'old' }
    const sort = params.sort as 'account.rank'
    for (let after: RowOf<typeof entries.fields> | undefined; ; ) {
      const page = await read.list(entries, { filter, sort, limit: 3, after })
      if (page.length === 0) return { body: ids }
      ids.push(...page.map(({ id }) => id))
      after = page.at(-1)
    }
  },
})

eachService(
  'own code lists by the same filters and sorts, in stored values (§15.4)',
  async (app) => {
    const { person } = await callersOf(app)
    const filter = 'account.due[gte]=2026-01-01&account.state=old'
    for (const sort of ['-account.rank', 'note.account.person.name', 'id']) {
      for (const caller of [app, person!]) {
        const listed = await rowsOf(caller, `${ENTRIES}?${filter}&sort=${sort}`)
        const walked = await caller.get(`/api/v2/walks/${sort}`)
        assert.deepEqual(walked.body, idsOf(listed), `${sort}: ${walked.text}`)
      }
    }
  },
  { service: reading },
)

eachService(
  'documents have the parameters of each version, with the schema of the field',
  async (app) => {
    const parametersIn = async (version: string): Promise<Map<string, AnyRow>> => {
      const { paths } = (await app.get(`/openapi/${version}.json`)).body
      const [, list] = Object.entries(paths).find(([path]) => path.endsWith('/entries')) as [
        string,
        AnyRow,
      ]
      return new Map(list.get.parameters.map((parameter: AnyRow) => [parameter.name, parameter]))
    }
    const [old, now] = [await parametersIn('v1'), await parametersIn('v2')]
    assert.deepEqual(now.get('account.state')!.schema.enum, ['new', 'old'])
    assert.ok(now.has('account.label[in]') && old.has('purse.title[in]'))
    assert.ok(!old.has('account.label') && !now.has('purse.title'))
    assert.ok(!now.has('account.active[null]') && now.has('account.rank[null]'))
    assert.match(now.get('account.person.pay')!.description, /people:pay/)
    assert.ok(now.get('sort')!.schema.items.enum.includes('-note.account.person.name'))
    assert.ok(old.get('sort')!.schema.items.enum.includes('purse.title'))
  },
  { service: ledger },
)

/** Returns the sentences of the mistakes of a list with these paths. */
function mistakesOf(...paths: readonly RelatedPath[]): string[] {
  const access = { read: 't:read', create: false, update: false, delete: false } as const
  const nodes = resource('nodes', {
    fields: {
      id: f.id(),
      parent_id: f.ref('nodes').nullable(),
      name: f.string(),
      data: f.json(),
      pin: f.string().writeOnly(),
      token: f.string().secret(),
      twice: f.computed(f.int()),
    },
    list: { filter: paths, sort: [] },
    access,
    events: [],
  }).compute('twice', () => 2)
  try {
    service({ name: 'n', versions: { v1: { released: '2026-01-01' } }, resources: [nodes] })
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

test('a path that leads to no field of a list is a mistake at the start, all at once', () => {
  assert.deepEqual(mistakesOf('parent.name', 'parent.parent.parent.name'), [])
  const mistakes: [RelatedPath, RegExp][] = [
    ['parent.nam', /parent\.nam: nodes has no field nam\. Did you mean name\?/],
    ['paren.name', /paren is no reference of nodes\. Did you mean parent\?/],
    ['name.name', /name is no reference of nodes/],
    ['parent.parent.parent.parent.name', /has 4 references; at most 3 are possible/],
    ['parent.data', /data of nodes has no order/],
    ['parent.pin', /pin is write-only/],
    ['parent.token', /token is secret/],
    ['parent.twice', /twice of nodes is no column: add \.stored\(\)/],
    ['parent.', /nodes has no field/],
  ]
  const sentences = mistakesOf(...mistakes.map(([path]) => path))
  for (const [path, words] of mistakes) {
    assert.ok(
      sentences.some(
        (sentence) => /^resource nodes: list: /.test(sentence) && words.test(sentence),
      ),
      `${path}: ${sentences.join('\n')}`,
    )
  }
  assert.ok(sentences.length >= mistakes.length)
})

eachService(
  'an older version filters and sorts by its own names',
  async (app) => {
    await callersOf(app)
    const old = await rowsOf(app, '/api/v1/entries?purse.title=a&sort=-purse.title')
    const now = await rowsOf(app, `${ENTRIES}?account.label=a&sort=-account.label`)
    assert.deepEqual(idsOf(old), idsOf(now))
    assert.ok(old.length > 0)
    await refused(app.get('/api/v1/entries?account.label=a'), 'unknown_parameter', 'account.label')
    await refused(app.get('/api/v1/entries?sort=purse.label'), 'invalid_parameter', 'sort')
    await refused(app.get(`${ENTRIES}?purse.title=a`), 'unknown_parameter', 'purse.title')
  },
  { service: ledger },
)

eachService(
  'a field that the caller does not see is no filter and no sort, also after others used it',
  async (app) => {
    const callers = await callersOf(app)
    const path = 'account.person.pay'
    for (const query of [`?${path}=3`, `?sort=${path}`]) {
      assert.equal((await app.get(`${ENTRIES}${query}`)).status, 200)
      for (const name of ['without people', 'person', 'person with all entries']) {
        const reply = await callers[name]!.get(`${ENTRIES}${query}`)
        assert.equal(reply.status, 400, `${name} ${query}: ${reply.text}`)
        assert.doesNotMatch(reply.body.message, /mean account\.person\.pay|one of.*pay/)
      }
    }
    const bad = ['account.label[x]=1', 'account.colour=1', 'account=1', 'account.=1', '.label=1']
    for (const query of [...bad, 'account.person.email.x=1', 'account.rank=x', '__proto__.x=1']) {
      assert.equal((await app.get(`${ENTRIES}?${query}`)).status, 400, query)
    }
    await refused(
      app.get(`${ENTRIES}?account.active[null]=true`),
      'invalid_parameter',
      'account.active[null]',
    )
  },
  { service: ledger },
)
