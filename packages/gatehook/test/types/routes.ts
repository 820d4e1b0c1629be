/**
 * The types of the input and output of routes with older forms, and the errors that `tsc` must
 * report. An unused `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { type CreateOf, f, fields, resource, service } from 'gatehook'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

const shelfFields = { id: f.id(), label: f.string() } as const
const shelves = resource('shelves', {
  fields: shelfFields,
  list: { filter: [], sort: [] },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
})

const input = fields({ grams: f.int(), at: f.time().nullable() })
  .before('v3', {
    why: 'x',
    had: { day: f.date() },
    hadNot: ['at'],
    up: (old) => {
      exactly<typeof old, { readonly grams: number; readonly day: string }>(true)
      return { at: Date.parse(old.day) }
    },
  })
  .before('v2', {
    why: 'x',
    had: { kg: f.number() },
    hadNot: ['grams'],
    up: (old) => {
      exactly<typeof old, { readonly day: string; readonly kg: number }>(true)
      return { grams: old.kg * 1000 }
    },
  })

fields({ grams: f.int() }).before('v2', {
  why: 'x',
  had: { kg: f.number() },
  // @ts-expect-error: there is no field gram
  hadNot: ['gram'],
})
fields({ grams: f.int() }).before('v2', {
  why: 'x',
  had: { kg: f.number() },
  hadNot: ['grams'],
  // @ts-expect-error: grams is a number
  up: (old) => ({ grams: String(old.kg) }),
})
fields({ grams: f.int() }).before('v2', {
  why: 'x',
  had: { kg: f.number() },
  hadNot: ['grams'],
  // @ts-expect-error: kg is a number
  down: (body) => ({ kg: String(body.grams) }),
})
// @ts-expect-error: a text is no field
fields({ grams: 'f.int()' })

resource('parcels', {
  fields: { id: f.id(), grams: f.int() },
  list: { filter: [], sort: [] },
  access: { read: 'r', create: 'w', update: 'w', delete: 'w' },
  events: [],
})
  .action('weigh', {
    scope: 'w',
    input,
    run({ input }) {
      exactly<typeof input, { readonly grams: number; readonly at: number | null }>(true)
      return { grams: input.grams }
    },
  })
  .action('move', {
    scope: 'w',
    input: { members: f.int(), changes: f.string() },
    run({ input }) {
      exactly<typeof input, { readonly members: number; readonly changes: string }>(true)
      return undefined
    },
  })
  // @ts-expect-error: a body of an action has no rows
  .action('fill', { scope: 'w', input: fields({ shelf: shelves }) })
  // @ts-expect-error: grams is a number
  .action('empty', { scope: 'w', input, run: ({ input }) => ({ grams: String(input.grams) }) })

const base = service({
  name: 's',
  versions: { v1: { released: '2026-01-01' } },
  resources: [shelves],
})
const route = { method: 'POST', path: '/x', scope: 's', summary: 's' } as const

base.route({
  ...route,
  query: fields({ size: f.int() }),
  input,
  output: fields({ shelf: shelves, cents: f.int() }),
  async handle({ input, query, write }) {
    exactly<typeof input, { readonly grams: number; readonly at: number | null }>(true)
    exactly<typeof query, { readonly size: number }>(true)
    const shelf = await write((tx) => tx.create(shelves, { label: 'A' }))
    return { body: { shelf, cents: input.grams } }
  },
})
base.route({
  ...route,
  output: fields({ cents: f.int() }),
  // @ts-expect-error: cents is a number
  handle: () => ({ body: { cents: '1' } }),
})
base.route({
  ...route,
  input: shelves,
  output: shelves,
  async handle({ input, write }) {
    exactly<typeof input, CreateOf<typeof shelfFields>>(true)
    return { body: await write((tx) => tx.create(shelves, input)) }
  },
})
// @ts-expect-error: an input has no rows
base.route({ ...route, input: fields({ shelf: shelves }), handle: () => ({ body: 1 }) })
