/**
 * The types of ids, and the errors that `tsc` must report in their use. An unused
 * `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { type CreateOf, f, type RowOf, resource, type ServiceTx } from 'gatehook'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

const list = { filter: ['id'], sort: ['id'] } as const
const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const fields = {
  id: f.id('bk'),
  hall_id: f.ref('halls'),
  extends_id: f.ref('bookings', 'bk').nullable(),
} as const
const bookings = resource('bookings', { fields, list, access, events: [] })
const halls = resource('halls', { fields: { id: f.id() }, list, access, events: [] })

exactly<
  RowOf<typeof fields>,
  { readonly id: string; readonly hall_id: number; readonly extends_id: string | null }
>(true)
exactly<CreateOf<typeof fields>, { hall_id: number; extends_id: string | null }>(true)

export async function readAndChange(tx: ServiceTx, id: string): Promise<void> {
  const booking = await tx.lock(bookings, id)
  await tx.get(halls, booking.hall_id)
  await tx.update(bookings, booking.id, { extends_id: id })
  await tx.remove(halls, booking.hall_id)
  // @ts-expect-error: the ids of bookings are texts
  await tx.get(bookings, booking.hall_id)
  // @ts-expect-error: the ids of halls are numbers
  await tx.get(halls, booking.id)
  // @ts-expect-error: the ids of halls are numbers
  await tx.remove(halls, id)
  // @ts-expect-error: the ids of bookings are texts
  await tx.update(bookings, 7, { hall_id: 7 })
  // @ts-expect-error: a booking refers to a booking by a text
  await tx.update(bookings, id, { extends_id: 7 })
  // @ts-expect-error: the engine sets the id
  await tx.create(bookings, { id, hall_id: 7, extends_id: null })
  // @ts-expect-error: the id never changes
  await tx.update(bookings, id, { id, hall_id: 7 })
}

bookings.rule('create', async ({ after, lock }) => {
  await lock(halls, after.hall_id)
  // @ts-expect-error: the ids of halls are numbers
  await lock(halls, after.extends_id ?? '')
})
// @ts-expect-error: a prefix is a text
f.id(7)
// @ts-expect-error: a prefix is a text
f.ref('bookings', 7)
