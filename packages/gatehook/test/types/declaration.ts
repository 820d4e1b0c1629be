/**
 * The errors that `tsc` must report in a declaration, and the types it must infer. An unused
 * `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { type CreateOf, f, job, type PatchOf, type RowOf, resource, service, smtp } from 'gatehook'

const fields = {
  id: f.id(),
  user_id: f.ref('users').owner(),
  status: f.oneOf(['pending', 'paid']).default('pending').readonly(),
  amount: f.int().min(1),
  currency: f.currency().default('EUR'),
  note: f.string().nullable().default(null),
  due: f.time().nullable(),
  gift: f.bool().default(false),
  created_at: f.createdAt(),
} as const
const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const list = { filter: ['amount'], sort: ['amount'] } as const
const orders = resource('orders', { fields, list, access, events: ['order.created'] })

// 1. A filter over an unknown column.
resource('orders', {
  fields,
  // @ts-expect-error: there is no field total
  list: { filter: ['total'], sort: ['amount'] },
  access,
  events: [],
})
// @ts-expect-error: clients write an object as a whole
f.object({ city: f.string().readonly() })
// @ts-expect-error: clients write an array as a whole
f.array(f.string().readonly(), { max: 9 })
// @ts-expect-error: a unit is a text
f.int().unit(7)
// @ts-expect-error: there is no field -amount
resource('orders', { fields, list: { filter: [], sort: ['-amount'] }, access, events: [] })

resource('orders', {
  fields,
  list: { ...list, prefix: ['note'], contains: ['note', 'currency'] },
  access,
  events: [],
})
// @ts-expect-error: amount is not a text
resource('orders', { fields, list: { ...list, contains: ['amount'] }, access, events: [] })
// @ts-expect-error: there is no field title
resource('orders', { fields, list: { ...list, prefix: ['title'] }, access, events: [] })

resource('orders', { fields, list, access, events: [], search: ['note'] })
// @ts-expect-error: amount is not a text
resource('orders', { fields, list, access, events: [], search: ['amount'] })

// 2. A `from` or a `to` state that does not exist.
// @ts-expect-error: there is no state unpaid
orders.action('pay', { scope: 'w', from: ['unpaid'], to: 'paid' })
// @ts-expect-error: there is no state payed
orders.action('pay', { scope: 'w', from: ['pending'], to: 'payed' })

// 3. Input of the wrong type; a change of an unknown field, or to the wrong type.
orders.action('refund', {
  scope: 'w',
  input: { reference: f.string() },
  // @ts-expect-error: reference is a string
  run: ({ row, input }) => ({ amount: row.amount - input.reference }),
})
// @ts-expect-error: amount is a number
orders.action('raise', { scope: 'w', run: () => ({ amount: 'more' }) })
// @ts-expect-error: there is no field total
orders.check((row) => (row.total > 5 ? { amount: 'too much' } : undefined))

orders.check('small', (row) => row.amount < 5, 'amount is too high')
// @ts-expect-error: there is no field total
orders.check('small', (row) => row.total < 5, 'total is too high')
// @ts-expect-error: the sentence is required
orders.check('small', (row) => row.amount < 5)
resource('orders', { fields, list, access, events: [], unique: [['user_id', 'amount']] })
// @ts-expect-error: there is no field total
resource('orders', { fields, list, access, events: [], unique: [['user_id', 'total']] })

f.string().visible('notes:read').writable('notes:write').writeOnly()
// @ts-expect-error: the scope is required
f.string().visible()
const computing = resource('orders', {
  fields: { ...fields, double: f.computed(f.int()) },
  list,
  access,
  events: [],
})
computing.compute('double', (row) => row.amount * 2)
// @ts-expect-error: double is a number
computing.compute('double', (row) => row.currency)
// @ts-expect-error: there is no field total
computing.compute('double', (row) => row.total)
// @ts-expect-error: clients write the amount
computing.compute('amount', () => 2)
// @ts-expect-error: a time of day is text
f.timeOfDay().default(9)
f.ref('users').onDelete('cascade')
// @ts-expect-error: the effects are restrict, cascade, setNull
f.ref('users').onDelete('ignore')

// Rules: the rows of the operation, and the values that complete it.
orders.rule('create', async ({ after, before, tx, lock, principal }) => {
  exactly<typeof before, undefined>(true)
  const row = await lock(orders, after.user_id)
  exactly<typeof row.gift, boolean>(true)
  await tx.update(orders, 1, { amount: after.amount + principal.scopes.size })
  // @ts-expect-error: own code names a customer by its id
  principal.scope
  return { note: 'completed' }
})
orders.rule('pay', ({ before, after }) => {
  if (before.amount > after.amount) throw new Error()
})
// @ts-expect-error: a new row has no id
orders.rule('create', ({ after }) => ({ amount: after.id }))
// @ts-expect-error: amount is a number
orders.rule('update', () => ({ amount: 'more' }))
// @ts-expect-error: nothing is after a deletion
orders.rule('delete', ({ after }) => ({ amount: after.amount }))

// Owners, persons, editable fields, default scopes.
orders.ownedBy('user_id').editable(['amount', 'note'], { from: ['pending'] })
// @ts-expect-error: there is no field owner_id
orders.ownedBy('owner_id')
// @ts-expect-error: there is no field total
orders.editable(['total'], { from: ['pending'] })
// @ts-expect-error: there is no state open
orders.editable(['amount'], { from: ['open'] })
// @ts-expect-error: from is required
orders.editable(['amount'], {})
orders.signsIn({ username: 'note', scopes: ['orders:read'] })
// @ts-expect-error: scopes are strings
orders.signsIn({ username: 'note', scopes: [1] })
orders.signsIn({ username: 'note', signUp: { fields: ['amount'], scopes: ['orders:read'] } })
// @ts-expect-error: there is no field total
orders.signsIn({ username: 'note', signUp: { fields: ['total'] } })
// @ts-expect-error: signUp is an object
orders.signsIn({ username: 'note', signUp: true })
resource('plans', {
  fields,
  list,
  access: { ...access, read: 'public', persons: 'write' },
  events: [],
})
// @ts-expect-error: persons read or write
resource('plans', { fields, list, access: { ...access, persons: 'all' }, events: [] })

// 4. A `down` that omits an old field; 5. an `up` that reads a field the old shape lacks.
const had = { total: f.number(), label: f.string().nullable() }
orders.before('v2', {
  why: 'cents',
  had,
  hadNot: ['amount'],
  up: (old) => ({ amount: Math.round(old.total * 100) }),
  // @ts-expect-error: label is missing
  down: (row) => ({ total: row.amount / 100 }),
})
orders.before('v2', {
  why: 'cents',
  had,
  hadNot: ['amount'],
  // @ts-expect-error: the old shape had no amount
  up: (old) => ({ amount: old.amount }),
  down: (row) => ({ total: row.amount / 100, label: row.note }),
})
orders.before('v2', {
  why: 'cents',
  had,
  hadNot: ['amount'],
  up: (old) => ({ amount: Math.round(old.total * 100) }),
  down: (row) => ({ total: row.amount / 100, label: row.note }),
  // @ts-expect-error: the old shape has no sum
  renamed: { sum: 'amount' },
})

// An older change applies to the result of the newer one.
orders
  .before('v3', {
    why: 'cents',
    had: { total: f.number() },
    hadNot: ['amount'],
    up: (old) => ({ amount: Math.round(old.total * 100) }),
    down: (row) => ({ total: row.amount / 100 }),
  })
  .before('v2', {
    why: 'words',
    had: { sum: f.string() },
    hadNot: ['total'],
    up: (old) => ({ total: Number(old.sum) }),
    down: (row) => ({ sum: String(row.total) }),
  })
  .before('v1', {
    why: 'amount is removed',
    had: {},
    // @ts-expect-error: the shape of v2 has no amount
    hadNot: ['amount'],
    up: () => ({}) as never,
    down: () => ({}),
  })

// The inferred types, exactly.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

type Row = {
  readonly id: number
  readonly user_id: number
  readonly status: 'pending' | 'paid'
  readonly amount: number
  readonly currency: string
  readonly note: string | null
  readonly due: number | null
  readonly gift: boolean
  readonly created_at: number
}
type Create = {
  user_id: number
  amount: number
  due: number | null
  currency?: string
  note?: string | null
  gift?: boolean
}
type Patch = Partial<Create>
exactly<RowOf<typeof fields>, Row>(true)
exactly<CreateOf<typeof fields>, Create>(true)
exactly<PatchOf<typeof fields>, Patch>(true)
// @ts-expect-error: the check itself can fail
exactly<RowOf<typeof fields>, Create>(true)

// Exact values.
const exact = {
  id: f.id(),
  day: f.date(),
  lasts: f.duration().min(0),
  price: f.decimal(12, 2).default('0.00'),
  token: f.uuid().nullable().default(null),
} as const
type Exact = {
  readonly id: number
  readonly day: string
  readonly lasts: number
  readonly price: string
  readonly token: string | null
}
exactly<RowOf<typeof exact>, Exact>(true)
// @ts-expect-error: a pattern is an expression
f.pattern('^a$')
// @ts-expect-error: a decimal is text
f.decimal(12, 2).default(0)
// @ts-expect-error: a decimal has a number of decimals
f.decimal(12)
// @ts-expect-error: a duration is milliseconds in rows
f.duration().default('PT1H')

const once = () => f.string().nullable().writeOnce()
// Values inside values.
const nested = {
  id: f.id(),
  address: f.object({ city: f.string(), since: f.time().nullable().default(null) }),
  tags: f.array(f.oneOf(['a', 'b']), { max: 5 }).default([]),
  metadata: f.metadata(),
  extra: f.json().nullable(),
} as const
type Address = { readonly city: string; readonly since: number | null }
type Nested = {
  readonly id: number
  readonly address: Address
  readonly tags: readonly ('a' | 'b')[]
  readonly metadata: Readonly<Record<string, string>>
  readonly extra: unknown
}
exactly<RowOf<typeof nested>, Nested>(true)
exactly<CreateOf<typeof nested>['metadata'], Nested['metadata'] | undefined>(true)
exactly<RowOf<{ a: ReturnType<typeof once> }>['a'], string | null>(true)
// @ts-expect-error: an array has a maximum
f.array(f.string())
// @ts-expect-error: members are fields
f.object({ city: 'string' })
// @ts-expect-error: the default lacks since
f.object({ city: f.string(), since: f.int() }).default({ city: 'Ulm' })
// @ts-expect-error: items are a or b
f.array(f.oneOf(['a', 'b']), { max: 5 }).default(['c'])
resource('places', { fields: nested, list: { filter: [], sort: [] }, access, events: [] }).check(
  // @ts-expect-error: an address has no street
  (row) => (row.address.street === '' ? { address: 'has no street' } : undefined),
)

// Routes: parameters of the path, query, input, rows.
// Mail.
const mailed = service({ name: 's', versions: { v1: { released: '2026-01-01' } }, resources: [] })
mailed.mail(smtp('smtp://localhost'), {
  from: 'a@example.com',
  texts: { resetPassword: ({ link = '', token }) => ({ subject: 's', text: `${link} ${token}` }) },
})
mailed.mail({ send: async ({ to, subject, text }) => void [to, subject, text] }, { from: 'a@b.c' })
// @ts-expect-error: from is required
mailed.mail(smtp('smtp://localhost'), {})
// @ts-expect-error: a transport has send(message)
mailed.mail({ post: async () => {} }, { from: 'a@example.com' })
// @ts-expect-error: there is no such mail
mailed.mail(undefined, { from: 'a@example.com', texts: { welcome: () => ({}) } })

service({ name: 's', versions: { v1: { released: '2026-01-01' } }, resources: [orders] })
  .route({
    method: 'POST',
    path: '/shelves/:shelf/books/:book',
    scope: 'w',
    summary: 'typed',
    query: { deep: f.bool().default(false) },
    input: { count: f.int() },
    output: orders,
    async handle({ params, query, input, write }) {
      exactly<keyof typeof params, 'shelf' | 'book'>(true)
      exactly<typeof query.deep, boolean>(true)
      exactly<typeof input.count, number>(true)
      const row = await write((tx) =>
        tx.create(orders, { user_id: 1, amount: input.count, due: null }),
      )
      exactly<typeof row.status, 'pending' | 'paid'>(true)
      // @ts-expect-error: amount is required
      await write((tx) => tx.create(orders, { user_id: 1, due: null }))
      // @ts-expect-error: there is no such state
      await write((tx) => tx.update(orders, 1, { status: 'lost' }))
      return { body: row }
    },
  })
  .route({
    method: 'GET',
    path: '/summary',
    scope: 'r',
    summary: 'typed',
    output: { total: f.int(), rows: [orders] },
    async handle({ read, show }) {
      const row = await read.get(orders, 1)
      return { body: { total: 1, rows: [row, show(row)] } }
    },
  })
  .route({
    method: 'GET',
    path: '/wrong',
    scope: 'r',
    summary: 'typed',
    output: { total: f.int() },
    // @ts-expect-error: total is a number
    handle: () => ({ body: { total: 'many' } }),
  })
  .route({
    method: 'GET',
    path: '/undeclared',
    scope: 'r',
    summary: 'typed',
    handle: () => ({ body: { total: 1 } }),
  })
  .route({
    method: 'GET',
    path: '/table',
    scope: 'r',
    summary: 'typed',
    output: { media: 'text/csv' },
    handle: () => ({ body: 'a,b' }),
  })
  // @ts-expect-error: versions are v1, v2, …
  .route({ method: 'FETCH', path: '/x', scope: 'w', summary: '', handle: () => ({}) })

// Background work: the input of a job is typed where code enqueues it, and in its handler.
const sendReceipt = job('send_receipt', { order_id: f.int(), copies: f.int().default(1) })
const sweep = job('sweep')
service({ name: 'typed', versions: { v1: { released: '2026-01-01' } }, resources: [orders] })
  .job(sendReceipt, async ({ input, write, signal }) => {
    exactly<typeof input.copies, number>(true)
    exactly<typeof signal, AbortSignal>(true)
    // @ts-expect-error: there is no field total
    input.total
    await write(async (tx) => {
      await tx.enqueue(sendReceipt, { order_id: 7 }, { runAt: new Date() })
      await tx.enqueue(sweep, {})
      // @ts-expect-error: order_id is required
      await tx.enqueue(sendReceipt, { copies: 2 })
      // @ts-expect-error: order_id is a number
      await tx.enqueue(sendReceipt, { order_id: '7' })
      // @ts-expect-error: a job is declared by job()
      await tx.enqueue('send_receipt', { order_id: 7 })
    })
  })
  .on(orders, 'order.created', ({ event, attempt }) => {
    exactly<typeof event.type, string>(true)
    exactly<typeof attempt, number>(true)
  })
  .every('1h', 'sweep', async ({ customers, dueAt }) => {
    exactly<typeof dueAt, number>(true)
    for await (const { read } of customers()) await read.get(orders, 1)
  })
  // @ts-expect-error: the handler has no input
  .every('1h', 'other', ({ input }) => input)
