/** The errors that `tsc` must report in derived fields, and the types it must infer. */
import { type CreateOf, f, type RowOf, resource, type ServiceTx } from 'gatehook'

const fields = {
  id: f.id(),
  amount: f.int().min(1),
  net: f.derived(f.int().nullable(), 'amount - 1'),
  label: f.derived(f.string(), { sqlite: 'amount', postgres: 'amount::text' }),
  rank: f.computed(f.int()).stored(),
  created_at: f.createdAt(),
  updated_at: f.updatedAt(),
  state: f.string().default('new').readonly(),
} as const
const access = { read: 'r', create: 'w', update: 'w', delete: false } as const

export const orders = resource('orders', {
  fields,
  list: { filter: ['net'], sort: ['label'] },
  access,
  events: [],
})
const row: RowOf<typeof fields> = {
  ...{ id: 1, amount: 2, net: null, label: '2', rank: 1, state: 'new' },
  ...{ created_at: 0, updated_at: 0 },
}
export const { net } = row satisfies { net: number | null; label: string }
// @ts-expect-error: clients never write it
export const body: CreateOf<typeof fields> = { amount: 1, net: 2 }
// @ts-expect-error: the SQL is required
f.derived(f.int())
// @ts-expect-error: both databases have a text
f.derived(f.int(), { sqlite: 'amount' })

export async function write(tx: ServiceTx): Promise<void> {
  const created = await tx.create(orders, { amount: 1, state: 'old' })
  await tx.update(orders, created.id, { ...created, amount: 2, state: 'new' })
  // @ts-expect-error: the database derives it
  await tx.create(orders, { amount: 1, net: 2 })
  // @ts-expect-error: own code computes it
  await tx.create(orders, { amount: 1, rank: 2 })
  // @ts-expect-error: the engine sets it
  await tx.create(orders, { amount: 1, created_at: 0 })
  // @ts-expect-error: the engine sets it
  await tx.update(orders, 1, { updated_at: 0 })
  // @ts-expect-error: the database derives it
  await tx.update(orders, 1, { label: '' })
}
orders.rule('create', ({ now }) => ({ amount: now }))
// @ts-expect-error: the engine sets it
orders.rule('update', ({ now }) => ({ updated_at: now }))
// @ts-expect-error: the id never changes
orders.action('move', { scope: 'w', run: () => ({ id: 2 }) })
