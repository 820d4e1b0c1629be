import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f } from '../resources/fields.ts'
import { resource } from '../resources/resource.ts'
import { service } from '../resources/service.ts'
import { changeOf, type Plan, planFor, triggerable } from './sample-event.ts'

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
  .action('mend', { scope: 'things:write', from: ['lost'], to: 'new', emits: 'thing.mended' })
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

const way = (plan: Plan | undefined) =>
  plan?.kind === 'row'
    ? [...plan.actions.map(({ name }) => name), plan.ending ?? 'end']
    : plan?.kind

test('the shortest way through the states leads to the event', () => {
  const ways: Record<string, unknown> = {
    'thing.created': ['end'],
    'thing.updated': ['update'],
    'thing.glued': ['cut', 'glue', 'end'],
    'thing.done': ['cut', 'finish', 'end'],
    'thing.poked': ['poke', 'end'],
    'thing.mended': undefined, // no way leads to `lost`
    'payment.made': 'posted',
    'thing.unheard': undefined,
  }
  for (const [type, expected] of Object.entries(ways)) {
    assert.deepEqual(way(planFor(definition, type)), expected, type)
  }
  assert.deepEqual(triggerable(definition), [
    'thing.created',
    'thing.updated',
    'thing.glued',
    'thing.mended',
    'thing.done',
    'thing.poked',
    'payment.made',
  ])
})

test('an update changes something that may be the same elsewhere', () => {
  assert.deepEqual(changeOf(things.definition, 0), { size: 1 })
})
