/** The filter of the data browser: the parameters of the API that a word means. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { describeInput } from '../../packages/gatehook/src/declare/resources/field-input.ts'
import { f } from '../../packages/gatehook/src/protocol/fields/f.ts'
import type { AnyField } from '../../packages/gatehook/src/protocol/fields/fields.ts'

/** Types of pages need those of a browser, which this program does not have. */
const code = '../../packages/pages/src/console/data/data-filters.ts'
const { dataParameters, dataWords } = await import(code)

const declared: Readonly<Record<string, AnyField>> = {
  status: f.oneOf(['in', 'out']),
  pages: f.int(),
  title: f.string(),
  at: f.time().nullable(),
  labels: f.metadata(),
  shelf_id: f.ref('shelves', 'sh'),
}
const fields = Object.entries(declared).map(([name, { spec }]) => ({
  name,
  values: spec.values ?? null,
  nullable: spec.nullable,
  input: describeInput(name, spec),
}))
const resource = {
  name: 'books',
  label: 'title',
  fields,
  filter: fields.map(({ name }) => name),
  sort: [],
  access: { read: 'books:read', create: null, update: null, delete: null },
  actions: [],
  signs_in: null,
  count: 0,
}

const SHELF = `sh_${'7'.repeat(22)}`

interface Word {
  readonly name: string
  readonly check?: (value: string) => string | undefined
}

const wordNamed = (name: string): Word =>
  dataWords(resource).find((word: Word) => word.name === name)

const CASES: readonly (readonly [word: string, parameters: object])[] = [
  ['status:in', { status: 'in' }],
  [`shelf_id:${SHELF},${SHELF}`, { 'shelf_id[in]': `${SHELF},${SHELF}` }],
  ['status:in,out', { 'status[in]': 'in,out' }],
  ['status:!=out', { 'status[ne]': 'out' }],
  ['pages:>=500', { 'pages[gte]': '500' }],
  ['pages:<7', { 'pages[lt]': '7' }],
  ['pages:100..200', { 'pages[gte]': '100', 'pages[lte]': '200' }],
  ['title:To be, or not', { title: 'To be, or not' }],
  ['title:Wait..', { title: 'Wait..' }],
  ['at:2026-02-28', { 'at[gte]': '2026-02-28', 'at[lt]': '2026-03-01' }],
  ['at:null', { 'at[null]': true }],
  ['at:!=null', { 'at[null]': false }],
  ['title:null', { title: 'null' }],
  ['labels:crm=a=b', { 'labels[crm]': 'a=b' }],
  ['at:>2026-02-28T10:00:00Z', { 'at[gt]': '2026-02-28T10:00:00Z' }],
]

for (const [word, parameters] of CASES) {
  test(`${word} means ${JSON.stringify(parameters)}`, () => {
    const at = word.indexOf(':')
    const filter = { name: word.slice(0, at), value: word.slice(at + 1) }
    assert.deepEqual(dataParameters(resource, [filter]), parameters)
    const { check } = wordNamed(filter.name)
    assert.equal(check?.(filter.value), undefined)
  })
}

test('a value of another form is rejected before the request', () => {
  const checkOf = (name: string) => wordNamed(name).check!
  for (const value of ['many', '>=', '1..x', '..', '1,x']) assert.ok(checkOf('pages')(value), value)
  for (const value of ['crm', '=x', 'a b=c']) assert.ok(checkOf('labels')(value), value)
  for (const value of ['today', '2026', '>soon']) assert.ok(checkOf('at')(value), value)
  for (const value of ['7', 'sh_7', SHELF.slice(1)]) assert.ok(checkOf('shelf_id')(value), value)
})

const lists = '../../packages/pages/src/value-list.ts'

test('lists have the texts of spec/vectors/value-lists.json', async () => {
  const { valueListText } = await import(lists)
  const vectors = JSON.parse(readFileSync('spec/vectors/value-lists.json', 'utf8'))
  for (const { values, text } of vectors.lists) assert.equal(valueListText(values), text)
})

const csv = '../../packages/pages/src/console/csv-cell.ts'

test('cells have the texts of spec/vectors/csv-cells.json', async () => {
  const { csvCell } = await import(csv)
  const { texts } = JSON.parse(readFileSync('spec/vectors/csv-cells.json', 'utf8'))
  for (const { text, cell } of texts) assert.equal(csvCell(text), cell)
})
