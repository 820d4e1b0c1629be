/**
 * The types of a service for its clients: `typeof api` has each name and value in its wire form.
 * `tsc` checks them; nothing runs the service.
 */
import { event, f, failure, fields, resource, service } from 'gatehook'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

const exceeded = failure('amount_exceeds_due', {
  status: 409,
  message: 'x',
  details: fields({ due: f.int(), at: f.time() }),
})
const declined = failure('declined', { status: 402, message: 'x' })
const soldOut = failure('sold_out', { status: 402, message: 'x' })

const counters = resource('counters', {
  fields: { id: f.id(), name: f.string().unique(), last: f.int().default(0) },
  access: false,
})
const people = resource('people', {
  fields: { id: f.id(), email: f.email(), born: f.date().nullable() },
  list: { filter: ['email'], contains: ['email'], sort: [] },
  search: ['email'],
  softDelete: true,
  access: { read: 'r', create: false, update: false, delete: 'w' },
  events: ['person.deleted'],
})
const bills = resource('bills', {
  fields: {
    id: f.id('bill'),
    person_id: f.ref('people').nullable(),
    payer: f.ref('people'),
    status: f.oneOf(['open', 'paid']).default('open').readonly(),
    ends: f.time().writeOnce(),
    pin: f.string().max(4).writeOnly(),
    margin: f.int().default(0).visible('r:internal'),
    labels: f.metadata(),
    data: f.json().nullable().default(null),
    lines: f.array(f.object({ at: f.time(), n: f.int().default(1) }), { max: 9 }),
    place: f.object({ city: f.string(), zip: f.string().nullable().default(null) }),
    total: f.computed(f.int()),
    wait: f.duration(),
  },
  list: {
    filter: ['status', 'ends', 'labels', { field: 'margin', index: false }],
    prefix: [],
    sort: ['ends', ['status', 'id'], { field: 'margin', index: false }],
  },
  access: { read: 'r', create: 'w', update: 'w', delete: false },
  events: ['bill.created'],
})
  .compute('total', () => 1)
  .rule('create', () => undefined, { failures: [exceeded, 'conflict'] })
  .action('pay', { scope: 'w', from: ['open'], to: 'paid', emits: 'bill.paid' })
  .action('remind', {
    scope: 'w',
    input: fields({ at: f.time(), text: f.string().default('') }),
    failures: [declined],
  })
  .action('close', { scope: false })
  .check(() => undefined)
  .editable(['margin'], { from: ['open'] })

const overdue = event('bill.overdue', bills)
const ready = event('report.ready', fields({ url: f.url(), at: f.time() }))
const shipped = event('parcel.shipped', fields({ code: f.string() }))
export const api = service({
  name: 'x',
  versions: { v9: { released: '2026-01-01' }, v10: { released: '2026-02-01' } },
  resources: [people, bills, counters],
  events: [overdue, ready],
  externalEvents: ['payment.succeeded', { type: 'payment.failed', scope: 'r' }, { event: shipped }],
})
  .route({
    method: 'POST',
    path: '/bills/:id/parts/:part',
    scope: 'w',
    summary: 's',
    query: { since: f.time(), size: f.int().default(1) },
    input: bills,
    output: { bill: bills, at: f.time(), days: [f.date()], all: [people] },
    failures: [soldOut, 'conflict'],
    handle: () => ({ body: { bill: {} as never, at: 1, days: [], all: [] } }),
  })
  .route({
    method: 'GET',
    path: '/report',
    scope: 'w',
    summary: 's',
    output: { media: 'text/csv' },
    handle: () => ({ body: 'a' }),
  })
  .route({
    method: 'PUT',
    path: '/photos/:id',
    scope: 'w',
    summary: 's',
    input: { media: ['image/png', 'image/jpeg'] },
    output: { media: ['application/pdf', 'text/csv'] },
    handle: () => ({ media: 'text/csv', body: 'a' }),
  })
  .every('1d', 'daily', () => undefined)

type Types = (typeof api)['types']
exactly<Types['version'], 'v10'>(true)
// Own code alone uses counters.
exactly<keyof Types['resources'], 'people' | 'bills'>(true)

type Bill = Types['resources']['bills']
exactly<
  Bill['row'],
  {
    readonly id: string
    readonly person_id: number | null
    readonly payer: number
    readonly status: 'open' | 'paid'
    readonly ends: string
    readonly labels: Readonly<Record<string, string>>
    readonly data: unknown
    readonly lines: readonly { readonly at: string; readonly n: number }[]
    readonly place: { readonly city: string; readonly zip: string | null }
    readonly total: number
    readonly wait: string
    readonly margin?: number
  }
>(true)
exactly<
  Bill['create'],
  {
    readonly person_id: number | null
    readonly payer: number
    readonly ends: string
    readonly pin: string
    readonly lines: readonly { readonly at: string; readonly n?: number }[]
    readonly place: { readonly city: string; readonly zip?: string | null }
    readonly wait: string
    readonly margin?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly data?: unknown
  }
>(true)
exactly<
  Bill['update'],
  {
    readonly person_id?: number | null
    readonly payer?: number
    readonly pin?: string
    readonly margin?: number
    readonly labels?: Readonly<Record<string, string | null>>
    readonly data?: unknown
    readonly lines?: readonly { readonly at: string; readonly n?: number }[]
    readonly place?: { readonly city?: string; readonly zip?: string | null }
    readonly wait?: string
  }
>(true)
exactly<Bill['deletes'], false>(true)
exactly<
  Bill['filters'],
  {
    readonly status: 'open' | 'paid'
    readonly ends: string
    readonly labels: Readonly<Record<string, string>>
    readonly margin: number
  }
>(true)
exactly<Bill['sorts'], 'ends' | 'status' | 'id' | 'margin'>(true)
exactly<
  [Bill['prefixes'], Bill['parts'], Bill['searches'], Bill['restores']],
  [never, never, false, false]
>(true)
exactly<
  Bill['relations'],
  {
    readonly person: { readonly resource: 'people'; readonly nullable: true }
    readonly payer: { readonly resource: 'people'; readonly nullable: false }
  }
>(true)
exactly<keyof Bill['actions'], 'pay' | 'remind'>(true)
exactly<Bill['actions']['remind'], { readonly at: string; readonly text?: string }>(true)

type Person = Types['resources']['people']
exactly<Person['row']['deleted_at'], string | null>(true)
exactly<[Person['create'], Person['update'], Person['deletes']], [never, never, true]>(true)
exactly<[Person['parts'], Person['searches'], Person['restores']], ['email', true, true]>(true)

type Part = Types['routes']['POST /bills/:id/parts/:part']
exactly<Part['params'], 'id' | 'part'>(true)
exactly<Part['query'], { readonly since: string; readonly size?: number }>(true)
exactly<Part['input'], Bill['create']>(true)
exactly<
  Part['output'],
  {
    readonly bill: Bill['row']
    readonly at: string
    readonly days: readonly string[]
    readonly all: readonly Person['row'][]
  }
>(true)
exactly<Types['routes']['GET /report']['output'], string>(true)

exactly<
  Types['routes']['PUT /photos/:id']['input'],
  { readonly media: 'image/png' | 'image/jpeg'; readonly body: Uint8Array }
>(true)
exactly<Types['routes']['PUT /photos/:id']['output'], Uint8Array | string>(true)

type Events = Types['events']
exactly<
  keyof Events,
  | 'person.deleted'
  | 'bill.created'
  | 'bill.paid'
  | 'bill.overdue'
  | 'report.ready'
  | 'payment.succeeded'
  | 'payment.failed'
  | 'parcel.shipped'
>(true)
exactly<Events['bill.overdue']['lines'][number], { readonly at: string; readonly n: number }>(true)
exactly<'margin' extends keyof Events['bill.paid'] ? true : false, false>(true)
exactly<Events['report.ready'], { readonly url: string; readonly at: string }>(true)
exactly<Events['parcel.shipped'], { readonly code: string }>(true)
exactly<Events['payment.failed'], Readonly<Record<string, unknown>>>(true)
exactly<
  Types['failures'],
  {
    readonly amount_exceeds_due: { readonly due: number; readonly at: string }
    readonly declined: undefined
    readonly sold_out: undefined
  }
>(true)
