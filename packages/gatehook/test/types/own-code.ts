/**
 * The types of the words of own code, and the errors that `tsc` must report. An unused
 * `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { event, f, failure, fields, job, resource, service } from 'gatehook'

const exceeded = failure('amount_exceeds_due', {
  status: 409,
  message: 'x',
  details: fields({ due: f.int(), reason: f.string().nullable().default(null) }),
})
const declined = failure('declined', { status: 402, message: 'x' })
export const code: 'amount_exceeds_due' = exceeded.code

export const thrown = [
  exceeded({ details: { due: 1 } }),
  exceeded({ details: { due: 1, reason: 'x' }, message: 'x' }),
  declined(),
  declined({ errors: [{ pointer: '/a', code: exceeded, message: 'x' }] }),
  declined({ errors: [{ pointer: '/a', code: 'too_large', message: 'x' }] }),
]
// @ts-expect-error: details are required
exceeded()
// @ts-expect-error: due is a number
exceeded({ details: { due: '1' } })
// @ts-expect-error: there is no member rest
exceeded({ details: { due: 1, rest: 1 } })
// @ts-expect-error: the code is no failure
declined({ errors: [{ pointer: '/a', code: 'oops', message: 'x' }] })
// @ts-expect-error: 418 is no status of a failure
failure('teapot', { status: 418, message: 'x' })

const internal = { fields: { id: f.id(), name: f.string().unique() }, access: false } as const
resource('counters', internal)
resource('counters', { ...internal, list: { filter: ['name'], sort: ['name'] } })
// @ts-expect-error: there is no field title
resource('counters', { ...internal, list: { filter: ['title'], sort: [] } })
// @ts-expect-error: no event has the rows of own code alone
resource('counters', { ...internal, events: ['counter.created'] })
// @ts-expect-error: agents do not reach them
resource('counters', { ...internal, mcp: false })
// @ts-expect-error: no client restores them
resource('counters', { ...internal, softDelete: true })
// @ts-expect-error: a resource with an API has a list and events
resource('counters', { fields: internal.fields, access: { read: 'r', create: 'w' } })

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const list = { filter: [], sort: [] } as const
resource('bills', {
  fields: { id: f.id('bill'), paid_at: f.time().nullable() },
  list,
  access,
  events: [],
})
  .rule('create', ({ after, now }) => ({ paid_at: after.id === 'x' ? now : null }), {
    failures: [exceeded, 'conflict'],
  })
  .action('pay', { scope: 'w', run: ({ now }) => ({ paid_at: now }), failures: [declined] })
  // @ts-expect-error: there is no code oops
  .action('fail', { scope: 'w', failures: ['oops'] })
resource('carts', { fields: { id: f.id() }, list, access, events: [] })
  // @ts-expect-error: the database generates ids that are numbers
  .rule('create', ({ after }) => void after.id)

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

const invoices = resource('invoices', {
  fields: {
    id: f.id('inv'),
    status: f.oneOf(['open', 'paid']).default('open').readonly(),
    note: f.string().nullable(),
    hidden: f.int().default(0).visible('invoices:internal'),
    pin: f.string().writeOnly(),
    lines: f.array(f.object({ at: f.time(), n: f.int() }), { max: 9 }),
    paid_at: f.time().nullable().default(null),
  },
  list,
  access,
  events: ['invoice.created'],
})
  .action('pay', { scope: false, from: ['open'], to: 'paid', emits: 'invoice.paid' })
  .action('remind', { scope: 'w', input: { days: f.int(), text: f.string().default('') } })
  // @ts-expect-error: actions set the state
  .action('reset', { scope: 'w', run: () => ({ status: 'open' }) })
  // @ts-expect-error: actions set the state
  .rule('update', () => ({ status: 'paid' }))
const overdue = event('invoice.overdue', invoices)
const ready = event('report.ready', fields({ url: f.url(), at: f.time() }), { scope: 'r' })
const sweep = job('sweep')
interface InvoiceObject {
  readonly id: string
  readonly status: 'open' | 'paid'
  readonly note: string | null
  readonly lines: readonly { readonly at: string; readonly n: number }[]
  readonly paid_at: string | null
}

export const api = service({
  name: 'x',
  versions: { v1: { released: '2026-01-01' } },
  resources: [invoices],
  events: [overdue, ready],
  externalEvents: ['payment.succeeded', { type: 'payment.failed', scope: 'r' }],
})
  .job(sweep, async ({ write }) => {
    await write(async (tx) => {
      exactly<typeof tx.now, number>(true)
      const row = await tx.act(invoices, 'x', 'pay')
      exactly<typeof row.paid_at, number | null>(true)
      await tx.act(invoices, 'x', 'remind', { days: 1 })
      await tx.create(invoices, { status: 'paid', note: null, pin: '', lines: [] })
      await tx.emit(overdue, 'x', { key: 'a' })
      await tx.emit(ready, { url: 'x', at: 0 })
      await tx.enqueue(sweep, {}, { key: 'a', runAt: 0 })
      // @ts-expect-error: there is no action finalise
      await tx.act(invoices, 'x', 'finalise')
      // @ts-expect-error: the action has a body
      await tx.act(invoices, 'x', 'remind')
      // @ts-expect-error: days is a number
      await tx.act(invoices, 'x', 'remind', { days: '1' })
      // @ts-expect-error: actions set the state
      await tx.update(invoices, 'x', { status: 'paid' })
      // @ts-expect-error: an event is a value
      await tx.emit('invoice.paid', {})
      // @ts-expect-error: the ids are texts
      await tx.emit(overdue, 7)
      // @ts-expect-error: at is a number
      await tx.emit(ready, { url: 'x', at: '' })
    })
  })
  .on(overdue, ({ event: { data } }) => exactly<typeof data.object, InvoiceObject>(true))
  .on(invoices, 'invoice.paid', ({ event: { data } }) =>
    exactly<typeof data.object, InvoiceObject>(true),
  )
  .on(invoices, 'invoice.created', () => {})
  .on(ready, ({ event: { data } }) =>
    exactly<typeof data.object, { readonly url: string; readonly at: string }>(true),
  )
  .on('payment.succeeded', () => {})
  .on('payment.failed', () => {})
  .on('key.created', () => {})
// @ts-expect-error: invoices has no such event
api.on(invoices, 'invoice.piad', () => {})
// @ts-expect-error: no backend and no engine emits it
api.on('payment.suceeded', () => {})
api.every('0 5 * * *', 'all', ({ customers, day }) => {
  exactly<typeof day, string>(true)
  customers()
})
api.every(
  '0 5 * * *',
  'each',
  async ({ day, read, write, principal }) => {
    exactly<typeof day, string>(true)
    exactly<typeof principal.customer, string>(true)
    await read.list(invoices)
    await write((tx) => tx.list(invoices))
  },
  { timeZone: 'Europe/Berlin', each: 'customer', attempts: 2 },
)
// @ts-expect-error: a run of each customer has no customers
api.every('1h', 'x', ({ customers }) => customers(), { each: 'customer' })
// @ts-expect-error: there is no such each
api.every('1h', 'x', () => {}, { each: 'person' })
