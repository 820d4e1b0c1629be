/** The errors that `tsc` must report in derived fields, and the types it must infer. */
import { type CreateOf, f, type RowOf, resource } from 'gatehook'

const fields = {
  id: f.id(),
  amount: f.int().min(1),
  net: f.derived(f.int().nullable(), 'amount - 1'),
  label: f.derived(f.string(), { sqlite: 'amount', postgres: 'amount::text' }),
} as const
const access = { read: 'r', create: 'w', update: 'w', delete: false } as const

export const orders = resource('orders', {
  fields,
  list: { filter: ['net'], sort: ['label'] },
  access,
  events: [],
})
const row: RowOf<typeof fields> = { id: 1, amount: 2, net: null, label: '2' }
export const { net } = row satisfies { net: number | null; label: string }
// @ts-expect-error: clients never write it
export const body: CreateOf<typeof fields> = { amount: 1, net: 2 }
// @ts-expect-error: the SQL is required
f.derived(f.int())
// @ts-expect-error: both databases have a text
f.derived(f.int(), { sqlite: 'amount' })
