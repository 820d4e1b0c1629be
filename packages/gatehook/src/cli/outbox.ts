/** `gatehook outbox …`: events that transactions of the team emit by SQL (§17.2). */
import type { App } from '../app.ts'
import { emittedEventTypes } from '../declare/resources/event-type-list.ts'
import { recordAudit } from '../history/audit/store.ts'
import { findCustomerIdOf, readCustomers } from '../identity/access/customer-reader.ts'
import { createLog } from '../kernel/log.ts'
import { modeOf } from '../kernel/principal.ts'
import { isoTime } from '../kernel/time.ts'
import { CHANNEL, STATE_CHANGED } from '../outbound/deliveries/wake-up.ts'
import {
  deleteGrant,
  type EmissionGrant,
  installation as installationSql,
  listGrants,
  revocation,
} from '../outbound/emissions/grants.ts'
import { discardHeld, listHeld } from '../outbound/emissions/store.ts'
import { stubInstallation } from '../outbound/emissions/stub-function.ts'
import { databaseTarget } from '../platform/config/config.ts'
import type { Database } from '../platform/storage/database.ts'
import { requireOneServer } from '../platform/storage/distribution/one-server.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { findPlace, type PostgresPlace } from '../platform/storage/postgres-place.ts'
import { b } from '../protocol/fields/members.ts'
import { type CommandFamily, configOf, type Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { cliActor, installation, installationOptions, withApp } from './installation.ts'
import { bold } from './output.ts'
import { printableSql } from './printable-sql.ts'
import { serviceOf } from './service-file.ts'

const MODES = ['live', 'test'] as const
const HELD_MAX = 100
const ROLE_MAX = 63

/** Returns the place of the functions. Throws for SQLite, which no other program writes to. */
function placeIn(input: Input): PostgresPlace {
  const place = findPlace(databaseTarget(configOf(input)))
  if (place) return place
  throw new CommandError('The outbox is a function of PostgreSQL: set GATEHOOK_DATABASE_URL.')
}

const textOption = (value: unknown): string | undefined =>
  value === undefined ? undefined : String(value)

function roleOption(value: unknown): string {
  const role = textOption(value) ?? ''
  if (role === '' || Buffer.byteLength(role) > ROLE_MAX || role === 'public') {
    throw new UsageError('Name the role of the application: --grant ROLE')
  }
  return role
}

/** Reads the grant of the command line. Throws `UsageError`. */
async function readGrant(
  input: Input,
): Promise<EmissionGrant & { types: readonly string[] | undefined }> {
  const { grant, customer, allCustomers, mode, types } = input.options
  const role = roleOption(grant)
  const customers = customer as readonly string[] | undefined
  if ((customers === undefined) === (allCustomers === undefined)) {
    throw new UsageError('Name the customers of the role: --customer ID …, or --all-customers')
  }
  if (mode !== undefined && !MODES.includes(mode as (typeof MODES)[number])) {
    throw new UsageError('--mode is live or test')
  }
  const names = textOption(types)?.split(',')
  const declared = emittedEventTypes((await serviceOf(input)).definition)
  const unknown = names?.find((name) => !declared.includes(name))
  if (unknown !== undefined) {
    throw new UsageError(`--types: the service declares no event ${unknown} that SQL emits`)
  }
  return { role, customers, mode: mode as EmissionGrant['mode'], types: names }
}

const FAILED_BY_OPERATOR = new Set(['P0001', '42501', '42704', '42883', '42P01'])

/** Runs statements as the owner; a failure that the operator can correct is a sentence. */
async function runAsOwner(db: Database, change: Parameters<Database['migrate']>[0]): Promise<void> {
  try {
    await db.migrate(change)
  } catch (error) {
    const { cause = error } = error as { cause?: unknown }
    const { code, message } = cause as { code?: string; message: string }
    if (!FAILED_BY_OPERATOR.has(code ?? '')) throw error
    throw new CommandError(message)
  }
}

async function runStub(input: Input): Promise<void> {
  const { grant, print } = input.options
  const statements = stubInstallation(
    placeIn(input),
    grant === undefined ? undefined : roleOption(grant),
  )
  if (print === true) return input.out.result({ statements }, () => printableSql(input, statements))
  const log = createLog({ level: 'silent' })
  const db = await openDatabase(databaseTarget(configOf(input)), { log })
  try {
    await runAsOwner(db, async (_, ddl) => {
      for (const statement of statements) await ddl(statement)
    })
  } finally {
    await db.close()
  }
  input.out.result({ stub: true }, () => 'The stub writes to gatehook_emitted.')
}

type ListedGrant = Pick<EmissionGrant, 'role'> & {
  readonly customers: readonly string[] | null
  readonly external_ids: readonly (string | null)[] | null
}

/** Returns each customer by its id, with the id of the team beside it. */
const customersOf = ({ customers, external_ids }: ListedGrant) =>
  customers?.map((id, at) => (external_ids?.[at] ? `${external_ids[at]} (${id})` : id))

const grantRow = b
  .object({
    role: b.text(),
    customers: b.list(b.text()).nullable(),
    mode: b.text().nullable(),
    types: b.list(b.text()).nullable(),
  })
  .columns({ role: {}, customers: {}, mode: { none: 'both' }, types: { none: 'all' } })

const heldRow = b
  .object({
    id: b.text(),
    customer: b.text().nullable(),
    mode: b.text(),
    type: b.text(),
    held_at: b.time(),
    problem: b.text(),
  })
  .columns({ id: {}, customer: {}, mode: {}, type: {}, held_at: { as: 'time' }, problem: {} })

const wordsOf = ({ role, customers, mode, types }: EmissionGrant) =>
  `${bold(role)} emits ${types?.join(', ') ?? 'all types'} of ` +
  `${customers?.join(', ') ?? 'all customers'} in ${mode ?? 'both modes'}.`

async function runInstall(input: Input): Promise<undefined> {
  if (input.options.stub === true) {
    await runStub(input)
    return
  }
  const place = placeIn(input)
  const grant = await readGrant(input)
  const types = emittedEventTypes((await serviceOf(input)).definition)
  const statements = installationSql(place, grant, types)
  if (input.options.print === true) {
    input.out.result({ statements }, () => printableSql(input, statements))
    return
  }
  await withApp(input, async (app) => {
    requireOneServer(app.db, () => new CommandError('Distributed tables have no outbox.'))
    const { role: target, ...detail } = grant
    await runAsOwner(app.db, async (tx, ddl) => {
      for (const statement of statements) await ddl(statement)
      const entry = { actor: cliActor(), action: 'outbox.install', target, detail }
      await recordAudit(tx, entry, app.administration)
    })
    // A node without requests polls too rarely for the first event.
    await app.db.notify(CHANNEL, STATE_CHANGED)
  })
  const { role, customers = null, mode = null, types: granted = null } = grant
  input.out.result({ role, customers, mode, types: granted }, () => wordsOf(grant))
  return
}

async function revoke(app: App, input: Input) {
  const role = roleOption(input.args[0] ?? input.options.grant)
  const statements = revocation(placeIn(input), role)
  await runAsOwner(app.db, async (tx, ddl) => {
    // Before the statements, which fail where nothing was ever installed.
    const grants = await listGrants(tx)
    if (!grants.some((grant) => grant.role === role))
      throw new CommandError(`${role} has no grant.`)
    for (const statement of statements) await ddl(statement)
    await deleteGrant(tx, role)
    const entry = { actor: cliActor(), action: 'outbox.revoke', target: role }
    await recordAudit(tx, entry, app.administration)
  })
  return { role }
}

async function discard({ db, administration }: App, { args: [id = ''] }: Input) {
  await db.write(async (tx) => {
    const emission = await discardHeld(tx, id)
    if (!emission) throw new CommandError(`There is no held event ${id}: gatehook outbox held`)
    const { scope, type } = emission
    const entry = {
      actor: cliActor(),
      action: 'outbox.discard',
      target: id,
      scope,
      detail: { type },
    }
    await recordAudit(tx, entry, administration)
  })
  return { id }
}

export const outbox: CommandFamily = {
  name: 'outbox',
  summary: 'events of your own transactions: install, list, revoke, held, discard',
  commands: [
    {
      name: 'install',
      summary: 'lets a role of PostgreSQL emit events in its own transactions',
      description:
        'Creates the SQL functions gatehook_emit and gatehook_customer in the schema of the ' +
        'installation, and grants a role their use, in place of its former grant.',
      options: [
        ...installationOptions,
        ['--grant <ROLE>', 'the role of your application, or one that it is a member of'],
        ['--customer <ID...>', 'ids or external ids of the customers it emits events for'],
        ['--all-customers', 'it emits events for every customer, and may create customers'],
        ['--mode <MODE>', 'live or test; default: both'],
        ['--types <LIST>', 'types of events, separated by commas; default: all'],
        ['--print', 'print the SQL for your own migrations; change nothing'],
        ['--stub', 'functions that write to the table gatehook_emitted, for tests'],
      ],
      config: ['databaseUrl'],
      examples: [
        ['gatehook outbox install --grant app_rw --all-customers --mode live', 'once, as owner'],
        ['gatehook outbox install --grant app_rw --all-customers --print', 'for your migrations'],
        ['gatehook outbox install --stub --print', 'for a database of tests'],
      ],
      run: runInstall,
    },
    installation.list({
      name: 'list',
      summary: 'the roles that may emit events',
      examples: [['gatehook outbox list --json', 'for programs']],
      async rows({ db }) {
        const rows = []
        for (const grant of await listGrants(db)) {
          const { role, customers = null, mode = null, types = null } = grant
          const named = await readCustomers(db, customers ?? [])
          const external_ids = customers?.map((id) => named.get(id)?.external_id ?? null) ?? null
          rows.push({ role, customers, external_ids, mode, types })
        }
        return rows
      },
      columns: grantRow,
      cells: { customers: (row) => customersOf(row)?.join(', ') ?? 'all' },
      empty: 'No role may emit events: gatehook outbox install',
    }),
    installation.action({
      name: 'revoke [ROLE]',
      summary: 'takes the grant of a role',
      options: [['--grant <ROLE>', 'the role, in place of the argument']],
      examples: [['gatehook outbox revoke app_rw', 'its next call fails with 42501']],
      act: revoke,
      describe: ({ role }) => `${bold(role)} may emit no events.`,
    }),
    installation.list({
      name: 'held',
      summary: 'events that do not fit their declaration',
      examples: [['gatehook outbox held', 'a start with a declaration that they fit records them']],
      async rows({ db }) {
        const rows = []
        for (const { id, scope, type, problem, held_at } of await listHeld(db, HELD_MAX)) {
          const customer = (await findCustomerIdOf(db, scope)) ?? null
          rows.push({ id, customer, mode: modeOf(scope), type, problem, held_at: isoTime(held_at) })
        }
        return rows
      },
      columns: heldRow,
      empty: 'No event is held.',
    }),
    installation.action({
      name: 'discard <ID>',
      summary: 'discards a held event',
      examples: [['gatehook outbox discard evt_…', 'no receiver gets it']],
      act: discard,
      describe: ({ id }) => `Discarded ${bold(id)}.`,
    }),
  ],
}
