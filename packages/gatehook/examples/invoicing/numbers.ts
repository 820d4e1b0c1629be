/** Numbers without gaps: of invoices, and of credit notes. */
import { f, resource, type ServiceTx } from 'gatehook'

/** The last number of each sequence. Own code alone uses it. */
export const counters = resource('counters', {
  fields: { id: f.id(), name: f.string().max(40).unique(), last: f.int().default(0) },
  access: false,
})

/** The number commits, or is rolled back, with the row that has it. */
export async function nextNumber(tx: ServiceTx, name: string): Promise<string> {
  const counter = await tx.find(counters, { name })
  const { id, last } = counter
    ? await tx.lock(counters, counter.id)
    : await tx.create(counters, { name })
  await tx.update(counters, id, { last: last + 1 })
  return `${name}-${String(last + 1).padStart(5, '0')}`
}
