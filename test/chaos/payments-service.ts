/**
 * The service of the faults: payments that reduce the balance of a wallet, in a rule of own code.
 * Its next release has one more field with an index, for a rolling change of the schema.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const GATEHOOK = JSON.stringify(
  new URL('../../packages/gatehook/src/gatehook.ts', import.meta.url).href,
)

const RELEASES = {
  first: { field: '', name: '' },
  next: { field: 'tip: f.int().default(0),', name: ", 'tip'" },
}
export type Release = keyof typeof RELEASES

const declaration = ({ field, name }: (typeof RELEASES)[Release]) => `
import { Failure, f, resource, service } from ${GATEHOOK}
const access = { read: 'r', create: 'w', update: 'w', delete: false }
const wallets = resource('wallets', {
  fields: { id: f.id(), balance: f.int().min(0) },
  list: { filter: ['id'], sort: ['id'] },
  access,
  events: [],
})
const payments = resource('payments', {
  fields: {
    id: f.id(),
    wallet_id: f.ref('wallets'),
    amount: f.int().min(1),
    label: f.string().max(40),
    ${field}
  },
  list: { filter: ['label'${name}], sort: ['id'${name}] },
  access,
  events: ['payment.created'],
}).rule('create', async ({ tx, lock, after }) => {
  const wallet = await lock(wallets, after.wallet_id)
  if (wallet.balance < after.amount) throw new Failure('conflict', 'The wallet is empty.')
  await tx.update(wallets, wallet.id, { balance: wallet.balance - after.amount })
})
export default service({
  name: 'payments',
  versions: { v1: { released: '2026-01-01' } },
  resources: [wallets, payments],
})
`

/** Writes a release into a folder of its own, and returns the folder. */
export async function writeService(parent: string, release: Release): Promise<string> {
  const folder = join(parent, release)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'service.ts'), declaration(RELEASES[release]))
  return folder
}
