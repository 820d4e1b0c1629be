/**
 * The client that knows the names and values of an API, and the errors that `tsc` must report. An
 * unused `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { createClient } from '../../packages/client/src/client.ts'
import type { EngineCode, EngineEventType } from '../../packages/client/src/engine-names.ts'
import type * as engine from '../../packages/gatehook/src/history/events/engine-types.ts'
import type { FailureCode } from '../../packages/gatehook/src/kernel/failure.ts'
import type { api } from '../../packages/gatehook/test/types/client-types.ts'
import type { Types } from '../../spec/client/every-word.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

exactly<EngineCode, FailureCode>(true)
exactly<EngineEventType, engine.EngineEventType>(true)

const at = { baseUrl: 'http://localhost', apiKey: 'key' }
const client = createClient<typeof api>({ ...at, version: 'v10' })
const generated = createClient<Types>({ ...at, version: 'v10' })
exactly<typeof client, typeof generated>(true)
// @ts-expect-error: the version is that of the types
createClient<typeof api>({ ...at, version: 'v9' })
// @ts-expect-error: the version is required
createClient<typeof api>(at)
// @ts-expect-error: a text is no declaration
createClient<string>({ ...at, version: 'v1' })

// Collections and their operations.
const bills = client.collection('bills')
const people = client.collection('people')
// @ts-expect-error: there is no collection bill
client.collection('bill')
// @ts-expect-error: people have no create
people.create({ email: 'a@b.example' })
// @ts-expect-error: people have no update
people.update(1, { email: 'a@b.example' })
// @ts-expect-error: bills have no delete
bills.delete('bill_1')
// @ts-expect-error: people have no actions
people.act(1, 'pay')
people.delete(1)
// @ts-expect-error: ids of people are numbers
people.get('1')
const hooks = client.collection<{ id: string }>('/webhooks')
exactly<typeof hooks extends { create(body: object): unknown } ? true : false, true>(true)

// Rows and bodies.
const place = { city: 'Bern' }
const body = { person_id: 1, payer: 2, ends: '2026-01-01', pin: '1', lines: [], place, wait: 'P1D' }
const bill = await bills.create(body)
exactly<typeof bill, Types['resources']['bills']['row']>(true)
exactly<typeof bill.ends, string>(true)
exactly<typeof bill.margin, number | undefined>(true)
// @ts-expect-error: no response has a write-only field
bill.pin
// @ts-expect-error: there is no field end
bill.end
// @ts-expect-error: payer is required
bills.create({ ...body, payer: undefined })
// @ts-expect-error: an instant is a text
bills.create({ ...body, ends: 1 })
// @ts-expect-error: the server writes the total
bills.create({ ...body, total: 1 })
// @ts-expect-error: actions write the status
bills.update('bill_1', { status: 'paid' })
// @ts-expect-error: ends is written once
bills.update('bill_1', { ends: '2026-01-01' })
bills.update('bill_1', { place: { zip: null }, labels: { old: null }, pin: '2' })
// @ts-expect-error: there is no member street
bills.update('bill_1', { place: { street: 'x' } })

// Filters, sorts, searches and selections.
bills.list({ status: 'open', ends: { gte: '2026-01-01', lt: '2027-01-01' }, limit: 9 })
bills.list({ status: { in: ['open', 'paid'], ne: 'open' }, labels: { color: 'red' }, margin: 1 })
bills.list({ sort: '-ends' })
bills.list({ sort: ['status', '-id'], offset: 10 })
people.list({ q: 'ada', deleted: true, email: { contains: 'ada' } })
// @ts-expect-error: there is no filter total
bills.list({ total: 1 })
// @ts-expect-error: void is no status
bills.list({ status: 'void' })
// @ts-expect-error: void is no status
bills.list({ status: { in: ['void'] } })
// @ts-expect-error: there is no operator above
bills.list({ ends: { above: '2026-01-01' } })
// @ts-expect-error: the status is never null
bills.list({ status: { null: true } })
// @ts-expect-error: ends has no prefix
bills.list({ ends: { prefix: '2026' } })
// @ts-expect-error: total does not sort
bills.list({ sort: 'total' })
// @ts-expect-error: bills have no search
bills.list({ q: 'x' })
// @ts-expect-error: deleted bills are not stored
bills.list({ deleted: true })
for await (const row of bills.list({ fields: ['id', 'status'] })) {
  exactly<typeof row, Pick<typeof bill, 'id' | 'status'>>(true)
}
// @ts-expect-error: there is no field no
bills.list({ fields: ['no'] })

// Expansions.
type Person = Types['resources']['people']['row']
for await (const row of bills.list({ expand: ['person', 'payer'] })) {
  exactly<typeof row.person, Person | null>(true)
  exactly<typeof row.payer, Person>(true)
  exactly<typeof row.status, 'open' | 'paid'>(true)
}
const expanded = await bills.get('bill_1', { expand: 'payer', timeoutMs: 100 })
exactly<typeof expanded.payer.email, string>(true)
exactly<(typeof bill)['payer'], number>(true)
// @ts-expect-error: there is no relation pay
bills.list({ expand: ['pay'] })
// @ts-expect-error: people have no relations
people.get(1, { expand: 'bill' })

// Actions.
const paid = await bills.act('bill_1', 'pay')
exactly<typeof paid, typeof bill>(true)
bills.act('bill_1', 'pay', undefined, { idempotencyKey: 'k' })
bills.act('bill_1', 'remind', { at: '2026-01-01' })
// @ts-expect-error: remind has a body
bills.act('bill_1', 'remind')
// @ts-expect-error: pay has no body
bills.act('bill_1', 'pay', { at: '2026-01-01' })
// @ts-expect-error: close has no endpoint
bills.act('bill_1', 'close')
// @ts-expect-error: there is no action remove
bills.act('bill_1', 'remove')

// Routes.
const part = 'POST /bills/:id/parts/:part'
const answer = await client.route(
  part,
  { params: { id: 'bill_1', part: 2 }, query: { since: '2026-01-01' }, input: body },
  { idempotencyKey: 'k' },
)
exactly<typeof answer, Types['routes'][typeof part]['output']>(true)
const csv = await client.route('GET /report')
exactly<typeof csv, string>(true)
const photo = { params: { id: 1 }, input: { media: 'image/png', body: Uint8Array.of(1) } } as const
const answered = await client.route('PUT /photos/:id', photo, { headers: { accept: 'text/csv' } })
exactly<typeof answered, Uint8Array | string>(true)
// @ts-expect-error: a photo is bytes
client.route('PUT /photos/:id', { params: { id: 1 }, input: { media: 'image/png', body: 'text' } })
// @ts-expect-error: a photo is no text
client.route('PUT /photos/:id', { params: { id: 1 }, input: { ...photo.input, media: 'text/csv' } })
// @ts-expect-error: there is no route GET /reports
client.route('GET /reports')
// @ts-expect-error: the route has parameters
client.route(part)
// @ts-expect-error: part is missing
client.route(part, { params: { id: 1 }, query: { since: '2026-01-01' }, input: body })
// @ts-expect-error: since is required
client.route(part, { params: { id: 1, part: 2 }, query: {}, input: body })
// @ts-expect-error: the report has no query
client.route('GET /report', { query: { day: '2026-01-01' } })

// Events.
for await (const { type, data } of client.events.list({ type: 'bill.paid' })) {
  exactly<typeof type, 'bill.paid'>(true)
  exactly<typeof data.object.status, 'open' | 'paid'>(true)
  // @ts-expect-error: events lack fields that need a scope
  data.object.margin
}
for await (const event of client.events.list({ created: { gte: 1 }, limit: 9 })) {
  if (event.type === 'report.ready') exactly<typeof event.data.object.url, string>(true)
  if (event.type === 'key.created') exactly<typeof event.data.object.id, unknown>(true)
}
client.events.list({ type: { in: ['bill.overdue', 'payment.failed'] } })
// @ts-expect-error: there is no event bill.payed
client.events.list({ type: 'bill.payed' })
// @ts-expect-error: there is no filter object
client.events.list({ object: 'x' })

// Failures.
declare const error: unknown
if (client.isError(error, 'amount_exceeds_due')) {
  exactly<typeof error.details, { readonly due: number; readonly at: string }>(true)
  exactly<typeof error.status, number>(true)
}
if (client.isError(error, 'declined')) exactly<typeof error.details, undefined>(true)
if (client.isError(error, 'not_found')) exactly<typeof error.code, 'not_found'>(true)
client.isError(error, 'timeout')
// @ts-expect-error: there is no code amount_exceeds
client.isError(error, 'amount_exceeds')

// Without types, names and values are free.
const untyped = createClient({ ...at, version: 'v10' })
for await (const { id } of untyped.collection<{ id: number }>('any').list({ any: [1] })) {
  exactly<typeof id, number>(true)
}
// @ts-expect-error: a route has no type without those of an API
untyped.route('GET /report')
