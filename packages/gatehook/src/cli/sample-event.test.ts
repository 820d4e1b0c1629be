import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resource } from '../declare/resources/resource.ts'
import { service } from '../declare/resources/service.ts'
import { f } from '../protocol/fields/f.ts'
import { changeOf, type EventPlan, planFor, sampleValues, triggerable } from './sample-event.ts'

const things = resource('things', {
  fields: {
    id: f.id(),
    name: f.string().unique(),
    size: f.int(),
    status: f.oneOf(['new', 'cut', 'glued', 'done', 'lost']).default('new').readonly(),
    created_at: f.createdAt(),
  },
  list: { filter: ['id'], sort: ['id'] },
  access: { read: 'things:read', create: 'things:write', update: 'things:write', delete: false },
  events: ['thing.created', 'thing.updated'],
})
  .sample((n) => ({ name: `thing ${n}`, size: n % 2 }))
  .action('cut', { scope: 'things:write', from: ['new'], to: 'cut' })
  .action('glue', { scope: 'things:write', from: ['cut'], to: 'glued', emits: 'thing.glued' })
  .action('restore', { scope: 'things:write', from: ['lost'], to: 'new', emits: 'thing.restored' })
  .action('finish', {
    scope: 'things:write',
    from: ['cut', 'glued'],
    to: 'done',
    emits: 'thing.done',
  })
  .action('poke', { scope: 'things:write', emits: 'thing.poked' })

const { definition } = service({
  name: 'things',
  versions: { v1: { released: '2026-01-01' } },
  resources: [things],
  externalEvents: ['payment.made'],
})

const actionsOf = (plan: EventPlan | undefined) =>
  plan?.kind === 'row'
    ? [...plan.actions.map(({ name }) => name), plan.ending ?? 'end']
    : plan?.kind

test('the plan takes the shortest path through the states', () => {
  const expectedActions: Record<string, unknown> = {
    'thing.created': ['end'],
    'thing.updated': ['update'],
    'thing.glued': ['cut', 'glue', 'end'],
    'thing.done': ['cut', 'finish', 'end'],
    'thing.poked': ['poke', 'end'],
    'thing.restored': undefined, // no action leads to `lost`
    'payment.made': 'external',
    'thing.other': undefined,
  }
  for (const [type, expected] of Object.entries(expectedActions)) {
    assert.deepEqual(actionsOf(planFor(definition, type)), expected, type)
  }
  assert.deepEqual(triggerable(definition), [
    'thing.created',
    'thing.updated',
    'thing.glued',
    'thing.done',
    'thing.poked',
    'payment.made',
  ])
})

test('an update changes a field that is not unique', () => {
  assert.deepEqual(changeOf(things.definition, 0, { size: 0 }), { size: 1 })
})

test('a sample has the required fields that .sample() lacks, and distinct unique values', () => {
  const { definition: rooms } = resource('rooms', {
    fields: {
      id: f.id(),
      name: f.string().max(12).unique(),
      opens_at: f.time(),
      day: f.date(),
      size: f.int().min(3),
      floor: f.int().default(0),
    },
    list: { filter: [], sort: ['id'] },
    access: { read: 'r', create: 'w', update: false, delete: false },
    events: [],
  }).sample((n) => ({ opens_at: Date.UTC(2026, 0, 1, n) }))
  const first = sampleValues(rooms, 1)
  assert.deepEqual(first, {
    opens_at: '2026-01-01T01:00:00.000Z',
    name: 'name-1',
    day: '2026-06-01',
    size: 3,
  })
  assert.notEqual(sampleValues(rooms, 2).name, first.name)
})

test('a period of a sample begins before it ends', () => {
  const { definition: stays } = resource('stays', {
    fields: { id: f.id(), arrives: f.date(), departs: f.date() },
    list: { filter: [], sort: ['id'] },
    access: { read: 'r', create: 'w', update: false, delete: false },
    events: [],
  })
  assert.deepEqual(sampleValues(stays, 1), { arrives: '2026-06-01', departs: '2026-06-02' })
})
