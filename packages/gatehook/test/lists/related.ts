/**
 * A test service whose lists filter and sort by fields of other rows, and a model in JavaScript: a
 * caller's own lists of those resources decide which rows it reaches.
 */
import assert from 'node:assert/strict'
import type { Caller, Reply } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})

const people = resource('people', {
  fields: {
    id: f.id(),
    name: f.string().max(40),
    email: f.email().unique(),
    pay: f.int().nullable().default(null).visible('people:pay'),
  },
  list: { filter: ['name', 'pay'], sort: ['id'] },
  access: access('people'),
  events: [],
}).signsIn({
  username: 'email',
  scopes: ['entries:read', 'notes:read', 'accounts:read', 'people:read'],
})

const accounts = resource('accounts', {
  fields: {
    id: f.id('ac'),
    person_id: f.ref('people').owner(),
    label: f.string().max(40).nullable().default(null),
    rank: f.int().nullable().default(null),
    due: f.time().nullable().default(null),
    active: f.bool().default(true),
    state: f.oneOf(['new', 'old']).default('new'),
    price: f.decimal(9, 2).default('1.00'),
    metadata: f.metadata(),
  },
  list: { filter: [], sort: ['id'] },
  access: access('accounts'),
  events: [],
  softDelete: true,
}).before('v2', {
  why: 'A label is a text.',
  had: { title: f.string().max(40).nullable().default(null) },
  hadNot: ['label'],
  up: ({ title }) => ({ label: title }),
  down: ({ label }) => ({ title: label }),
  renamed: { title: 'label' },
})

const notes = resource('notes', {
  fields: {
    id: f.id(),
    account_id: f.ref('accounts', 'ac').nullable().default(null).onDelete('setNull'),
    text: f.string().max(40),
  },
  list: { filter: [], sort: ['id'] },
  access: { ...access('notes'), persons: 'read' },
  events: [],
})

export const FILTERS = [
  'account.label',
  'account.rank',
  'account.due',
  'account.active',
  'account.state',
  'account.price',
  'account.id',
  'account.person.email',
  'account.person.pay',
  'note.text',
  'note.account.rank',
  'note.account.person.name',
] as const
export type Path = (typeof FILTERS)[number]

export const entries = resource('entries', {
  fields: {
    id: f.id(),
    account_id: f.ref('accounts', 'ac').nullable().default(null).onDelete('cascade'),
    note_id: f.ref('notes').onDelete('cascade'),
    kind: f.oneOf(['a', 'b']).default('a'),
  },
  list: {
    filter: ['kind', 'account.metadata', ...FILTERS],
    sort: ['id', 'kind', ...FILTERS],
  },
  access: { ...access('entries'), persons: 'read' },
  events: [],
  export: true,
  softDelete: true,
}).before('v2', {
  why: 'An account is no purse.',
  had: { purse_id: f.ref('accounts', 'ac').nullable().default(null).onDelete('cascade') },
  hadNot: ['account_id'],
  up: ({ purse_id }) => ({ account_id: purse_id }),
  down: ({ account_id }) => ({ purse_id: account_id }),
  renamed: { purse_id: 'account_id' },
})

export const ledger = service({
  name: 'Ledger',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [people, accounts, notes, entries],
})

// biome-ignore lint/suspicious/noExplicitAny: rows of any resource
export type AnyRow = Record<string, any>

/** Returns all rows of a list that the caller reads; none without the right to read it. */
export async function rowsOf(caller: Pick<Caller, 'get'>, path: string): Promise<AnyRow[]> {
  const rows: AnyRow[] = []
  for (let cursor = ''; ; ) {
    const page: Reply = await caller.get(
      `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor}`,
    )
    if (page.status === 403) return []
    assert.equal(page.status, 200, `${path}: ${page.text}`)
    rows.push(...page.body.data)
    if (page.body.next_cursor === null) return rows
    cursor = `&cursor=${page.body.next_cursor}`
  }
}

/** The rows that a caller reads, by resource and id. */
export type Reached = Readonly<Record<string, ReadonlyMap<unknown, AnyRow>>>

export async function reachedBy(caller: Pick<Caller, 'get'>): Promise<Reached> {
  const named = ['people', 'accounts', 'notes'].map(async (name) => {
    const rows = await rowsOf(caller, `/api/v2/${name}`)
    return [name, new Map(rows.map((row) => [row.id, row]))] as const
  })
  return Object.fromEntries(await Promise.all(named))
}

const targets: Readonly<Record<string, string>> = {
  account: 'accounts',
  note: 'notes',
  person: 'people',
}

/** Returns the row in reach that has the field of a path; undefined for none. */
export function relatedRow(reached: Reached, row: AnyRow, path: Path): AnyRow | undefined {
  let current: AnyRow | undefined = row
  for (const name of path.split('.').slice(0, -1)) {
    current = reached[targets[name]!]!.get(current?.[`${name}_id`])
  }
  return current
}

export const fieldOf = (path: Path): string => path.split('.').at(-1)!

/** Returns a value in a form whose order is that of the list. */
function orderedForm(path: Path, value: unknown): Buffer | number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  if (path === 'account.price') return Number(value)
  return Buffer.from(path === 'account.person.email' ? String(value).toLowerCase() : String(value))
}

export function compareValues(path: Path, left: unknown, right: unknown): number {
  if (left === right) return 0
  if (left === null) return 1
  if (right === null) return -1
  const [a, b] = [orderedForm(path, left), orderedForm(path, right)]
  if (typeof a === 'number') return a - (b as number)
  return Buffer.compare(a, b as Buffer)
}

/** Returns whether a filter selects a row: `value` is undefined without a row in reach. */
export function selects(path: Path, operator: string, value: unknown, texts: unknown[]): boolean {
  if (value === undefined) return false
  if (operator === 'null') return (value === null) === (texts[0] === 'true')
  if (operator === 'ne') return value === null || compareValues(path, value, texts[0]) !== 0
  if (value === null) return false
  if (operator === 'in') return texts.some((text) => compareValues(path, value, text) === 0)
  const order = compareValues(path, value, texts[0])
  const is = { eq: order === 0, gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }
  return is[operator as keyof typeof is]
}
