/** A service whose resource uses every option of a collection, for tools that test its document. */
import { f, resource, service } from '../../packages/gatehook/src/gatehook.ts'

const access = {
  read: 'parts:read',
  create: 'parts:write',
  update: 'parts:write',
  delete: 'parts:write',
} as const

const shelves = resource('shelves', {
  fields: { id: f.id('sh'), name: f.string().min(1).max(40) },
  list: { filter: ['name'], sort: ['name'] },
  access,
  events: [],
}).sample((n) => ({ name: `Shelf ${n}` }))

const parts = resource('parts', {
  fields: {
    id: f.id(),
    shelf_id: f.ref('shelves', 'sh').nullable().default(null),
    parent_id: f.ref('parts').nullable().default(null),
    number: f.string().min(1).max(20).unique(),
    description: f.string().max(200).default(''),
    price: f.decimal(8, 2).min(0).default('0.00'),
    cost: f.decimal(8, 2).min(0).default('0.00').visible('parts:write'),
    note: f.string().max(100).default('').writeOnly(),
    bought: f.date().nullable().default(null),
    opens: f.timeOfDay().nullable().default(null),
    lasts: f.duration().nullable().default(null),
    code: f.uuid().nullable().default(null),
    size: f
      .object({ width: f.int().min(0), unit: f.oneOf(['mm', 'cm']) })
      .nullable()
      .default(null),
    tags: f.array(f.string().max(20), { max: 5 }).default([]),
    metadata: f.metadata(),
    data: f.json().default({}),
    status: f.oneOf(['new', 'used']).default('new').readonly(),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: {
    filter: ['shelf_id', 'price', 'bought', 'opens', 'lasts', 'code', 'status', 'metadata'],
    sort: ['number', 'price', 'bought', 'created_at'],
    prefix: ['number'],
    contains: ['description'],
  },
  search: ['number', 'description'],
  batch: true,
  export: true,
  softDelete: true,
  access,
  events: ['part.created', 'part.updated', 'part.deleted', 'part.restored'],
})
  .sample((n) => ({ number: `P-${n}`, description: `A part of shelf ${n}` }))
  .action('use', { scope: 'parts:write', from: ['new'], to: 'used', emits: 'part.used' })

export const workshop = service({
  name: 'Workshop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [shelves, parts],
})
