/**
 * The service of the faults: payments that reduce the balance of a wallet, in a rule of own code,
 * and people who sign in.
 * Its other releases add, drop or rename a field, at once or by the recipes of the guides, for
 * changes of the schema beside running nodes; one has a handler of events that hangs.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const GATEHOOK = JSON.stringify(
  new URL('../../packages/gatehook/src/gatehook.ts', import.meta.url).href,
)

const GUIDE = new URL('../../docs/guides/versions.md', import.meta.url)

const MEMO = "memo: f.string().default('none'),"
const NOTE = MEMO.replace('memo', 'note')
const RETIRED = "retired: ['memo'],"
const migration = (name: string, sql: string) =>
  `{ number: 1, name: '${name}', table: 'payments', sql: '${sql}' }`

/** Waits for a service that never answers. */
const STUCK = ".on(payments, 'payment.created', () => new Promise(() => {}), { timeoutMs: 60_000 })"

/** Returns the migrations of the guide, which rename a column beside nodes, for this service. */
function readRecipe(): { readonly expand: string; readonly contract: string } {
  const [, recipe = ''] = readFileSync(GUIDE, 'utf8').split('these migrations instead')
  const [expand, rest = ''] = recipe.split('Once all nodes have the new release')
  const [contract] = rest.split('Then rerun')
  const migrationsIn = (text = '') =>
    text
      .slice(text.indexOf('{ number'))
      .replaceAll('users', 'payments')
      .replaceAll('full_name', 'note')
      .replace(/\bname\b(?!:)/g, 'memo')
  return { expand: migrationsIn(expand), contract: migrationsIn(contract) }
}

const { expand, contract } = readRecipe()

const RELEASES = {
  first: { fields: MEMO },
  stuck: { fields: MEMO, jobs: STUCK },
  next: { fields: `${MEMO} tip: f.int().default(0),`, name: ", 'tip'" },
  dropped: { migrations: migration('no memo', 'ALTER TABLE payments DROP COLUMN memo') },
  renamed: {
    fields: NOTE,
    migrations: migration('note', 'ALTER TABLE payments RENAME COLUMN memo TO note'),
  },
  /** Neither the field nor a word about its column. */
  forgotten: {},
  /** The two steps of the guide that remove a field are `retired` and `dropped`. */
  retired: { options: RETIRED },
  expanded: { fields: NOTE, options: RETIRED, migrations: expand },
  contracted: { fields: NOTE, migrations: expand + contract },
}
export type Release = keyof typeof RELEASES

interface ReleaseTexts {
  readonly fields?: string
  /** A further name for filters and sorts. */
  readonly name?: string
  readonly options?: string
  readonly migrations?: string
  readonly jobs?: string
}

const declaration = ({
  fields = '',
  name = '',
  options = '',
  migrations = '',
  jobs = '',
}: ReleaseTexts) => `
import { Failure, f, resource, service } from ${GATEHOOK}
const access = { read: 'r', create: 'w', update: 'w', delete: false }
const wallets = resource('wallets', {
  fields: { id: f.id(), balance: f.int().min(0) },
  list: { filter: ['id'], sort: ['id'] },
  access,
  events: [],
})
const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique().personal() },
  list: { filter: ['id'], sort: ['id'] },
  access,
  events: [],
}).signsIn({ username: 'email' })
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
  ${options}
}).rule('create', async ({ tx, lock, after }) => {
  const wallet = await lock(wallets, after.wallet_id)
  if (wallet.balance < after.amount) throw new Failure('conflict', 'The wallet is empty.')
  await tx.update(wallets, wallet.id, { balance: wallet.balance - after.amount })
})
export default service({
  name: 'payments',
  versions: { v1: { released: '2026-01-01' } },
  resources: [wallets, people, payments],
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
