/** A service for the tests of §6.7 and §6.10: owners through rows, closed, open and public rows. */
import { f, resource, service } from '../../src/gatehook.ts'

const list = { filter: ['id'], sort: ['id'] } as const
const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const

export const members = resource('members', {
  fields: { id: f.id(), email: f.email().unique() },
  list,
  access: access('members'),
  events: ['member.created'],
}).signsIn({ username: 'email' })

export const carts = resource('carts', {
  fields: {
    id: f.id(),
    member_id: f.ref('members').owner(),
    shelf_id: f.ref('shelves').nullable().default(null),
    guest_id: f.ref('members').nullable().default(null),
  },
  list,
  access: access('carts'),
  events: ['cart.created'],
})

/** Owned through one row, and in the newest version under another name. */
export const items = resource('items', {
  fields: { id: f.id(), cart_id: f.ref('carts'), title: f.string() },
  list: { filter: ['id', 'cart_id', 'title'], sort: ['id', 'title'] },
  access: access('items'),
  events: ['item.created', 'item.updated', 'item.deleted'],
})
  .ownedBy('cart_id')
  .action('mark', { scope: 'items:write', run: () => ({ title: 'marked' }) })
  .before('v2', {
    why: 'Names are titles.',
    had: { name: f.string() },
    hadNot: ['title'],
    up: ({ name }) => ({ title: name }),
    down: ({ title }) => ({ name: title }),
    renamed: { name: 'title' },
  })

/** Owned through two rows. */
export const remarks = resource('remarks', {
  fields: { id: f.id(), item_id: f.ref('items').nullable().default(null), text: f.string() },
  list,
  access: access('remarks'),
  events: [],
}).ownedBy('item_id')

const plain = { id: f.id(), text: f.string().default('') }

export const shelves = resource('shelves', {
  fields: plain,
  list,
  access: access('shelves'),
  events: [],
})
export const plans = resource('plans', {
  fields: plain,
  list,
  access: { ...access('plans'), persons: 'read' },
  events: [],
})
export const polls = resource('polls', {
  fields: { ...plain, cart_id: f.ref('carts').nullable().default(null) },
  list,
  access: { ...access('polls'), persons: 'write' },
  events: [],
})
export const news = resource('news', {
  fields: { ...plain, rank: f.int().default(0) },
  list: { filter: ['id', 'rank'], sort: ['id', 'rank'] },
  access: { ...access('news'), read: 'public' },
  events: [],
}).links((row) => ({ self: `/news/${row.id}` }))

export const shop = service({
  name: 'A shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [members, carts, items, remarks, shelves, plans, polls, news],
})
