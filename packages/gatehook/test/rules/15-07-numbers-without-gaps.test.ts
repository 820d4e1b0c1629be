/** §15.7: conflicts of own code are no answers to callers: numbers have no gaps under load. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, type ServiceTx, service, sql, table } from '../../src/gatehook.ts'

const access = { read: 'i:read', create: 'i:write', update: 'i:write', delete: 'i:write' } as const

const clients = resource('clients', {
  fields: { id: f.id('cl'), name: f.string().max(200) },
  list: { filter: [], sort: ['name'] },
  search: ['name'],
  access,
  events: [],
  softDelete: true,
})

/** The filters and sorts give PostgreSQL a choice of indexes, which decides on its error code. */
const invoices = resource('invoices', {
  fields: {
    id: f.id('inv'),
    client_id: f.ref('clients', 'cl').writeOnce(),
    number: f.string().max(20).nullable().default(null).readonly(),
    status: f.oneOf(['draft', 'open']).default('draft').readonly(),
    currency: f.currency().default('EUR'),
    total: f.int().default(0),
    due_date: f.date().nullable().default(null),
    overdue: f.bool().default(false),
    memo: f.string().max(1000).nullable().default(null),
    metadata: f.metadata(),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  unique: [['client_id', 'number']],
  list: {
    filter: [
      ...(['client_id', 'status', 'number', 'due_date', 'overdue'] as const),
      ...(['currency', 'metadata'] as const),
    ],
    sort: ['created_at', 'due_date', 'total', ['status', 'due_date']],
  },
  search: ['number', 'memo'],
  access,
  events: ['invoice.created', 'invoice.updated', 'invoice.deleted'],
})
  .action('finalize', { scope: 'i:write', from: ['draft'], to: 'open', emits: 'invoice.finalized' })
  .rule('finalize', async ({ tx, lock, after }) => {
    await lock(clients, after.client_id)
    return { number: await nextNumber(tx, after.client_id) }
  })

async function nextNumber(tx: ServiceTx, clientId: string): Promise<string> {
  const last = await tx.sql.get<{ n: string | null }>(sql`
    SELECT max(number) AS n FROM ${table(invoices)}
    WHERE client_id = ${clientId} AND number >= ${'INV-'} AND number < ${'INV-9'}`)
  return `INV-${String(Number(last?.n?.slice(4) ?? 0) + 1).padStart(4, '0')}`
}

const invoicing = service({
  name: 'invoicing',
  versions: { v1: { released: '2026-01-01' } },
  resources: [clients, invoices],
}).route({
  method: 'POST',
  path: '/clients/:id/invoices',
  scope: 'i:write',
  summary: 'Create an invoice with a number that the caller selects',
  input: { number: f.string().max(20) },
  output: invoices,
  handle: async ({ params, input, write }) => ({
    body: await write((tx) =>
      tx.create(invoices, { client_id: params.id as `cl_${string}`, number: input.number }),
    ),
  }),
})

const create = async (service: TestApp, path: string, body: unknown): Promise<string> =>
  (await service.post(path, body)).body.id

/** Finalizes six drafts of each of two clients at once. Every second request has a key. */
async function finalizeAll(service: TestApp, clientIds: readonly string[], round: number) {
  const drafts = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      create(service, '/api/v1/invoices', { client_id: clientIds[n % 2] }),
    ),
  )
  return Promise.all(
    drafts.map((id, n) => {
      const headers = n % 3 === 0 ? { 'idempotency-key': `finalize-${round}-${n}` } : undefined
      return service.post(`/api/v1/invoices/${id}/finalize`, undefined, headers)
    }),
  )
}

const ROUNDS = 8

async function checkNumbers(service: TestApp, clientId: string): Promise<void> {
  const list = await service.get(`/api/v1/invoices?client_id=${clientId}&limit=100`)
  const numbers = list.body.data.map(({ number }: { number: string }) => number).sort()
  const expected = Array.from(
    { length: ROUNDS * 6 },
    (_, n) => `INV-${String(n + 1).padStart(4, '0')}`,
  )
  assert.deepEqual(numbers, expected)
}

eachService(
  'parallel changes that a rule numbers all succeed, without gaps, each with one event',
  async (service) => {
    const ids = await Promise.all(
      ['Ann', 'Bob'].map((name) => create(service, '/api/v1/clients', { name })),
    )
    for (let round = 0; round < ROUNDS; round++) {
      const replies = await finalizeAll(service, ids, round)
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    }
    for (const id of ids) await checkNumbers(service, id)
    const events = await service.get('/events?pagination=page&type=invoice.finalized')
    assert.equal(events.body.total, ROUNDS * 12)
  },
  { service: invoicing },
)

eachService(
  'a true duplicate of own code is 409 with its pointers, also when it is repeated',
  async (service) => {
    const id = await create(service, '/api/v1/clients', { name: 'Ann' })
    const path = `/api/v1/clients/${id}/invoices`
    const number = { number: 'INV-0001' }
    const replies = await Promise.all(Array.from({ length: 6 }, () => service.post(path, number)))
    const statuses = replies.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 409, 409, 409, 409, 409])
    for (let round = 0; round < 2; round++) {
      const headers = { 'idempotency-key': 'duplicate' }
      const { status, body } = await service.post(path, number, headers)
      const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer)
      assert.deepEqual([status, body.error, pointers], [409, 'conflict', ['/client_id', '/number']])
    }
    const events = await service.get('/events?pagination=page&type=invoice.created')
    assert.equal(events.body.total, 1)
  },
  { service: invoicing },
)

test('parallel changes on two nodes are numbered without gaps', async (t) => {
  const first = await openService(t, 'postgres', { service: invoicing })
  const second = await openService(t, 'postgres', { service: invoicing, url: first.url })
  const nodes = [first, second.as(await first.key())]
  const id = await create(first, '/api/v1/clients', { name: 'Ann' })
  const drafts = await Promise.all(
    Array.from({ length: 12 }, () => create(first, '/api/v1/invoices', { client_id: id })),
  )
  const replies = await Promise.all(
    drafts.map((draft, n) => nodes[n % 2]!.post(`/api/v1/invoices/${draft}/finalize`)),
  )
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
})
