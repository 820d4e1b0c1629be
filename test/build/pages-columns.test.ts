/** The tables of pages and terminal follow from the columns that an object declares. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { columnsOf } from '../../packages/gatehook/src/cli/columns.ts'
import { objectFacts, tableColumns } from '../../packages/gatehook/src/protocol/fields/columns.ts'
import { b } from '../../packages/gatehook/src/protocol/fields/members.ts'

/** Types of pages need those of a browser, which this program does not have. */
const load = (path: string) => import(`../../packages/pages/src/lists/${path}`)
const { layoutOf } = await load('column-layout.ts')
const { stateBy } = await load('state-words.ts')

const limits = b.object({ speed: b.object({ limit: b.int(1), window_s: b.int(1) }) })
const states = [
  ['ended_at', { '*': ['bad', 'ended, {count} left'] }],
  ['kind', { open: ['warn', 'open, retries'] }, 'tags'],
  ['kind', { open: ['idle'], '*': ['hold'] }],
] as const

/** An object that no page and no command knows. */
const gadget = b
  .object({
    id: b.text(),
    label: b.text(),
    kind: b.oneOf(['open', 'half_open']),
    tags: b.list(b.text()),
    parts: b.list(b.object({ name: b.text() })),
    limits,
    count: b.int(0),
    made_at: b.time(),
    ended_at: b.time().nullable(),
    health: b.object({ waiting: b.int(0) }),
  })
  .named('Gadget')
  .columns({
    id: {},
    label: { title: 'gadget' },
    tags: { isWide: true, none: 'no tag' },
    state: { states },
    made_at: {},
    ended_at: { as: 'ago', none: 'never' },
    parts: {},
    'limits.speed': { as: 'rate' },
    'health.waiting': {},
    count: { title: 'left', isFact: true },
  })

const row = {
  id: 'gad_1',
  label: 'Lamp',
  kind: 'open',
  tags: [] as string[],
  parts: [{ name: 'bulb' }],
  limits: { speed: { limit: 600, window_s: 60 } },
  count: 2,
  made_at: '2027-03-01T10:20:00.000Z',
  ended_at: null as string | null,
  health: { waiting: 7 },
}

test('the kind of a member says how a column displays it, and its name is the header', () => {
  assert.deepEqual(
    tableColumns(gadget).map(({ name, title, as }) => [name, title, as]),
    [
      ['id', 'id', 'id'],
      ['label', 'gadget', undefined],
      ['tags', 'tags', 'list'],
      ['state', 'state', undefined],
      ['made_at', 'made', 'day'],
      ['ended_at', 'ended', 'ago'],
      ['parts', 'parts', 'count'],
      ['limits.speed', 'speed', 'rate'],
      ['health.waiting', 'waiting', 'number'],
    ],
  )
})

test('a column of a member that the object lacks is a mistake', () => {
  const wrong = b.object({ id: b.text() }).named('Wrong')
  for (const columns of [{ 'id.name': {} }, { state: { states: [['gone', {}]] } }] as const) {
    assert.throws(() => tableColumns(wrong.columns(columns)), /Wrong has no member/)
  }
})

test('a terminal has every column without a change: ids first, long texts last', () => {
  const columns = columnsOf<typeof row>(gadget, {})
  const cells = columns.map(([title, cell]) => [title, stripVTControlCharacters(cell(row))])
  assert.deepEqual(cells, [
    ['id', 'gad_1'],
    ['gadget', 'Lamp'],
    ['state', 'open'],
    ['made', '2027-03-01T10:20:00.000Z'],
    ['ended', 'never'],
    ['parts', '1'],
    ['speed', '600 per 60 s'],
    ['waiting', '7'],
    ['tags', 'no tag'],
  ])
})

test('a page has every column that it does not omit, ids last; name and state never leave', () => {
  const { columns, name, under } = layoutOf(tableColumns(gadget), ['parts'])
  assert.equal(name.name, 'label')
  assert.deepEqual(
    columns.map((column: Record<string, unknown>) => [column.label, column.priority]),
    [
      ['Gadget', undefined],
      ['Tags', 2],
      ['State', undefined],
      ['Made', 2],
      ['Ended', 3],
      ['Speed', 3],
      ['Waiting', 4],
      ['Id', 4],
    ],
  )
  // A number under the name would lack its header.
  assert.deepEqual(
    under.map((column: Record<string, unknown>) => column.name),
    ['tags', 'made_at', 'ended_at', 'id'],
  )
  const main = columns.filter((column: Record<string, unknown>) => column.isMain)
  assert.deepEqual(
    main.map((column: Record<string, unknown>) => column.name),
    ['tags'],
  )
})

test('pages and terminal have the same words for a state', () => {
  const stateColumn = columnsOf<typeof row>(gadget, {}).find(([title]) => title === 'state')!
  const cases = [
    [row, 'open'],
    [{ ...row, tags: ['a'] }, 'open, retries'],
    [{ ...row, kind: 'half_open', tags: ['a'] }, 'half open'],
    [{ ...row, ended_at: row.made_at }, 'ended, 2 left'],
  ] as const
  for (const [each, words] of cases) {
    assert.equal(stripVTControlCharacters(stateColumn[1](each as typeof row)), words)
    assert.equal(stateBy(states, each)[1].toLowerCase(), words)
  }
  assert.deepEqual(stateBy([['kind', { closed: ['ok'] }]], row), ['idle', '–'])
})

test('the facts of an object are its state and its members in the order of the JSON', () => {
  const facts = objectFacts(gadget)
  assert.deepEqual(
    facts.map(({ name, title }) => [name, title]),
    [
      ['state', 'state'],
      ['id', 'id'],
      ['label', 'gadget'],
      ['tags', 'tags'],
      ['parts', 'parts'],
      ['limits.speed', 'speed'],
      ['count', 'left'],
      ['made_at', 'made'],
      ['ended_at', 'ended'],
      ['health.waiting', 'waiting'],
    ],
    'a kind that decides the state is no fact of its own',
  )
  const columns = tableColumns(gadget).map(({ name }) => name)
  assert.ok(!columns.includes('count'), 'a fact is no column')
})
