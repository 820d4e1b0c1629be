/**
 * The service of the faults: payments that reduce the balance of a wallet, in a rule of own code.
 * Its other releases add, drop or rename a field, for changes of the schema beside running nodes;
 * one has a handler of events that hangs.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const GATEHOOK = JSON.stringify(
  new URL('../../packages/gatehook/src/gatehook.ts', import.meta.url).href,
)

const MEMO = "memo: f.string().default('none'),"
const migration = (name: string, sql: string) =>
  `{ number: 1, name: '${name}', table: 'payments', sql: '${sql}' }`

/** Waits for a service that never answers. */
const STUCK = ".on(payments, 'payment.created', () => new Promise(() => {}), { timeoutMs: 60_000 })"

const RELEASES = {
  first: { fields: MEMO, name: '', migrations: '' },
  stuck: { fields: MEMO, name: '', migrations: '', jobs: STUCK },
  next: { fields: `${MEMO} tip: f.int().default(0),`, name: ", 'tip'", migrations: '' },
  dropped: {
    fields: '',
    name: '',
    migrations: migration('no memo', 'ALTER TABLE payments DROP COLUMN memo'),
  },
  renamed: {
    fields: MEMO.replace('memo', 'note'),
    name: '',
    migrations: migration('note', 'ALTER TABLE payments RENAME COLUMN memo TO note'),
  },
}
export type Release = keyof typeof RELEASES

interface ReleaseTexts {
  readonly fields: string
  readonly name: string
  readonly migrations: string
  readonly jobs?: string
}

const declaration = ({ fields, name, migrations, jobs = '' }: ReleaseTexts) => `
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
    ${fields}
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
  migrations: [${migrations}],
})${jobs}
`

/** Writes a release into a folder of its own, and returns the folder. */
export async function writeService(parent: string, release: Release): Promise<string> {
  const folder = join(parent, release)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'service.ts'), declaration(RELEASES[release]))
  return folder
}
