/** A service that only the tests of the data browser know: a field of each type, two versions. */
import { f, resource, service } from 'gatehook'

const authors = resource('authors', {
  fields: {
    id: f.id('au'),
    name: f.string().min(1),
    site: f.url().nullable().default(null),
    prizes: f.array(f.string(), { max: 3 }).default([]),
    links: f.metadata(),
  },
  list: { filter: ['id', 'name'], sort: ['id', 'name'] },
  access: {
    read: 'authors:read',
    create: 'authors:write',
    update: 'authors:write',
    delete: 'authors:write',
  },
  events: ['author.created'],
})

const readers = resource('readers', {
  fields: { id: f.id(), email: f.email().unique() },
  list: { filter: ['id', 'email'], sort: ['id'] },
  access: { read: 'readers:read', create: 'readers:write', update: false, delete: false },
  events: ['reader.created'],
}).signsIn({ username: 'email', scopes: ['readers:read', 'books:read'] })

const books = resource('books', {
  fields: {
    id: f.id(),
    author_id: f.ref('authors', 'au'),
    title: f.string().min(1).max(200),
    status: f.oneOf(['in', 'out', 'lost']).default('in').readonly(),
    pages: f.int().min(1).max(5000).describe('Without the cover.'),
    mode: f.oneOf(['paper', 'audio']).default('paper'),
    is_rare: f.bool().default(false),
    note: f.string().max(500).nullable().default(null),
    price: f.decimal(8, 2).default('9.50'),
    printed_on: f.date().nullable().default(null),
    length: f.duration().nullable().default(null),
    bought_at: f.time().nullable().default(null),
    weight: f.int().min(1).nullable().default(null).unit('gram'),
    created_at: f.createdAt(),
  },
  list: {
    filter: [
      'id',
      'author_id',
      'title',
      'status',
      'pages',
      'mode',
      'is_rare',
      'price',
      'bought_at',
    ],
    sort: ['id', 'title', 'pages'],
  },
  access: {
    read: 'books:read',
    create: 'books:write',
    update: 'books:write',
    delete: 'books:write',
  },
  events: ['book.created', 'book.updated', 'book.deleted'],
})
  .editable(['pages'], { from: ['in'] })
  .action('lend', {
    scope: 'books:write',
    from: ['in'],
    to: 'out',
    emits: 'book.lent',
    input: { reader: f.string().min(1).max(100) },
    run: ({ input }) => ({ note: `Lent to ${input.reader}` }),
  })
  .action('return', { scope: 'books:write', from: ['out'], to: 'in', emits: 'book.returned' })
  .before('v2', {
    why: 'Books have titles.',
    had: { name: f.string().min(1).max(200) },
    hadNot: ['title'],
    up: ({ name }) => ({ title: name }),
    down: ({ title }) => ({ name: title }),
    renamed: { name: 'title' },
  })

export const api = service({
  name: 'Library',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [authors, readers, books],
})
