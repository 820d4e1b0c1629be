/**
 * §15.7: 200 parallel changes that a rule numbers have no gap, no repeat and no conflict, with many
 * indexes and with few; on PostgreSQL over two nodes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kind } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, type ServiceTx, service, sql, table } from '../../src/gatehook.ts'

const COUNT = 200
const access = { read: 'i:read', create: 'i:write', update: false, delete: false } as const

const clients = resource('clients', {
  fields: { id: f.id('cl'), name: f.string().max(60) },
  list: { filter: [], sort: ['name'] },
  access,
  events: [],
})

const fields = {
  id: f.id('inv'),
  client_id: f.ref('clients', 'cl'),
  number: f.int().min(1).nullable().default(null).readonly(),
  status: f.oneOf(['draft', 'open']).default('draft').readonly(),
  total: f.int().default(0),
  created_at: f.createdAt(),
}
type Name = keyof typeof fields
interface InvoiceList {
  readonly filter: readonly Name[]
  readonly sort: readonly (Name | readonly [Name, Name])[]
}

const lists: Readonly<Record<string, InvoiceList>> = {
  'the full list': {
    filter: ['client_id', 'number', 'status', 'total', 'created_at'],
    sort: ['number', 'total', 'created_at', ['status', 'created_at']],
  },
  'a small list': { filter: ['client_id'], sort: [] },
}

/** Declares invoices as the guide of own code does. */
function invoicing(list: InvoiceList) {
  const invoices = resource('invoices', {
    fields,
    unique: [['client_id', 'number']],
    list,
    access,
    events: [],
    batch: true,
  })
    .action('finalize', {
      scope: 'i:write',
      from: ['draft'],
      to: 'open',
      emits: 'invoice.finalized',
    })
    .rule('finalize', async ({ tx, lock, after }) => {
      await lock(clients, after.client_id)
      return { number: await nextNumber(tx, after.client_id) }
    })
  async function nextNumber(tx: ServiceTx, clientId: string): Promise<number> {
    const last = await tx.sql.get<{ number: number | null }>(
      sql`SELECT max(number) AS number FROM ${table(invoices)} WHERE client_id = ${clientId}`,
    )
    return (last?.number ?? 0) + 1
  }
  const versions = { v1: { released: '2026-11-01' } }
  return service({ name: 'Invoicing', versions, resources: [clients, invoices] })
}

async function draftsOf({ post }: TestApp): Promise<string[]> {
  const client_id = (await post('/api/v1/clients', { name: 'Ann' })).body.id
  const items = Array.from({ length: 100 }, () => ({ client_id }))
  const ids: string[] = []
  while (ids.length < COUNT) {
    const { body } = await post('/api/v1/invoices/batch', { items })
    ids.push(...body.items.map((item: { body: { id: string } }) => item.body.id))
  }
  return ids
}

async function checkNumbers(kind: Kind, list: InvoiceList, t: Parameters<typeof openService>[0]) {
  const options = { service: invoicing(list) }
  const first = await openService(t, kind, options)
  const nodes = [first]
  if (kind === 'postgres') {
    const second = await openService(t, kind, { ...options, url: first.url })
    nodes.push(second.as(await first.key()) as TestApp)
  }
  const drafts = await draftsOf(first)
  const replies = await Promise.all(
    drafts.map((id, n) => nodes[n % nodes.length]!.post(`/api/v1/invoices/${id}/finalize`)),
  )
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  const numbers = replies.map(({ body }) => body.number).sort((a, b) => a - b)
  assert.deepEqual(
    numbers,
    Array.from({ length: COUNT }, (_, n) => n + 1),
  )
}

for (const kind of ['sqlite', 'postgres'] as const) {
  for (const [name, list] of Object.entries(lists)) {
    test(`200 finalizations at once are numbered without gaps, with ${name} [${kind}]`, (t) =>
      checkNumbers(kind, list, t))
  }
}
