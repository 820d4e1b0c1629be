/** The types of rows that own code creates: they lack members with defaults, at any depth. */
import { f, resource, type ServiceTx } from 'gatehook'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const exactly = <A, B>(same: Same<A, B>): boolean => same

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const postal = {
  id: f.id(),
  home: f.object({ city: f.string(), country: f.string().default('DE') }),
  others: f
    .array(
      f.object({ home: f.object({ city: f.string(), at: f.time().nullable().default(null) }) }),
      {
        max: 5,
      },
    )
    .default([]),
  total: f.int().readonly().default(0),
} as const
export const postals = resource('postals', {
  fields: postal,
  list: { filter: [], sort: [] },
  access,
  events: [],
}).sample(() => ({ home: { city: 'Ulm' }, others: [{ home: { city: 'Ulm' } }] }))
// @ts-expect-error: a city has no default
postals.sample(() => ({ home: { country: 'DE' } }))
// @ts-expect-error: a city is a text
postals.sample(() => ({ home: { city: 7 } }))
export async function createPostal(tx: ServiceTx): Promise<void> {
  const row = await tx.create(postals, { home: { city: 'Ulm' }, total: 1 })
  exactly<typeof row.home, { readonly city: string; readonly country: string }>(true)
  await tx.create(postals, { home: { city: 'Ulm', country: 'FR' }, others: row.others })
  // @ts-expect-error: a new row has a home
  await tx.create(postals, { total: 1 })
  // @ts-expect-error: there is no member street
  await tx.create(postals, { home: { city: 'Ulm', street: 'x' } })
}
