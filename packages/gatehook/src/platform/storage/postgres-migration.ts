/**
 * Runs migrations on PostgreSQL without long waits for table locks. `ALTER TABLE` waits for the
 * transactions that use the table, and all later statements of the table wait behind it. So it
 * waits briefly, gives up, and runs again after a pause. Contains no index builds.
 */
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Database,
  NameTakenError,
  type Row,
  StorageError,
  StorageWaitError,
  type Tx,
} from './database.ts'
import {
  isCreatedMeanwhile,
  isDenied,
  isLockTimeout,
  nameTakenBy,
  translatePostgresError,
} from './postgres-errors.ts'
import { LOCK_MIGRATIONS, type PostgresPlace } from './postgres-place.ts'
import type { Sessions } from './postgres-session.ts'

/** Whether the tables exist, and the bodies of the functions that a team calls (§17.2). */
const STATE = `SELECT to_regclass('gh_migrations') IS NOT NULL AS created,
  (SELECT string_agg(prosrc, ' ') FROM pg_proc WHERE proname LIKE 'gatehook\\_%'
    AND pronamespace = to_regnamespace(quote_ident(current_schema()))) AS called`

/** The wait for a lock doubles with each attempt up to the last one. */
const LOCK_WAIT_MS = 50
const LOCK_WAIT_MAX_MS = 400
/** Waits take at most 4 % of the time, so the p95 of other requests does not contain them. */
const PAUSE_MS = 250
const PAUSE_MAX_MS = 10_000
/** Attempts within about half an hour. */
const ATTEMPTS_MAX = 180
/** Attempts after which a name that others created meanwhile is taken for good. */
const CREATED_MAX = 10

type MigrationChange = Parameters<Database['migrate']>[0]

export interface MigrationDeps {
  /** Runs one transaction. */
  readonly write: (
    change: (tx: Tx, ddl: (sql: string) => Promise<void>) => Promise<void>,
  ) => Promise<void>
  readonly read: Sessions['read']
  readonly place: PostgresPlace
  /** Statements with which a transaction begins. */
  readonly settings: readonly string[]
}

/** Throws `StorageWaitError` with the transaction that holds the lock after the last attempt. */
export async function migrateWithShortWaits(
  { write, read, place, settings }: MigrationDeps,
  change: MigrationChange,
  onWait: (line: string) => void = () => {},
  attemptsMax: number = ATTEMPTS_MAX,
): Promise<void> {
  let waitMs = LOCK_WAIT_MS
  let created = 0
  for (let attempt = 1; ; attempt++) {
    let lastStatement = ''
    try {
      return await write(async (tx, ddl) => {
        for (const setting of settings) await ddl(setting)
        await ddl('SET LOCAL statement_timeout = 0')
        await ddl('SET LOCAL idle_in_transaction_session_timeout = 0')
        // No request waits for this lock.
        await ddl('SET LOCAL lock_timeout = 0')
        await createSchema(tx, ddl, place)
        const { created, called } = (await tx.get({ sql: '', text: STATE, values: [] }))!
        if (created) await ddl(LOCK_MIGRATIONS)
        const isCalled = matchTables(called ?? '')
        await ddl(`SET LOCAL lock_timeout = ${waitMs}`)
        await change(tx, async (sql) => {
          lastStatement = sql
          if (isCalled(sql)) await ddl(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`)
          await ddl(sql)
        })
      })
    } catch (error) {
      if (isCreatedMeanwhile(error) && ++created < CREATED_MAX) continue
      const taken = nameTakenBy(error)
      if (taken !== undefined) {
        throw new NameTakenError(taken, await describeTaken(read, taken), error)
      }
      if (!isLockTimeout(error)) throw error
      const holder = await describeHolder(read, lastStatement)
      const line = `${describeStatement(lastStatement)} waits for a lock${holder}`
      if (attempt >= attemptsMax) {
        throw new StorageWaitError(`${line}. End that transaction, and start again.`, {
          cause: error,
        })
      }
      onWait(`${line}; attempt ${attempt}`)
      waitMs = Math.min(2 * waitMs, LOCK_WAIT_MAX_MS)
    }
    await delay(Math.min(PAUSE_MS * 2 ** (attempt - 1), PAUSE_MAX_MS))
  }
}

/**
 * Returns whether a statement names a table of these functions: no transaction of a team waits for
 * more than 50 ms (§17.2).
 */
function matchTables(functions: string): (statement: string) => boolean {
  const names = new Set(functions.match(/\bgh_\w+/g))
  return (statement) =>
    (statement.match(/\bgh_\w+/g) ?? []).some((name) =>
      [...names].some((table) => name.startsWith(table)),
    )
}

/** A role without the right to create schemas can use one that exists. */
async function createSchema(
  tx: Tx,
  ddl: (sql: string) => Promise<void>,
  { schema }: PostgresPlace,
): Promise<void> {
  const text = `SELECT to_regnamespace('"${schema}"') IS NOT NULL AS exists, current_user AS role`
  const row = await tx.get({ sql: '', text, values: [] })
  if (row!.exists) return
  await ddl(`CREATE SCHEMA "${schema}"`).catch((error) => {
    if (!isDenied(error)) throw error
    throw new StorageError(
      `The schema ${schema} does not exist, and the role ${row!.role} may not create it: ` +
        `CREATE SCHEMA "${schema}" AUTHORIZATION "${row!.role}".`,
      { cause: error },
    )
  })
}

/** See `Database.validateConstraint`. */
export async function validateConstraint(
  { dedicate, place }: Pick<Sessions, 'dedicate' | 'place'>,
  table: string,
  name: string,
): Promise<void> {
  try {
    await dedicate(async (session, hasSession) => {
      // The lock of the scan conflicts with no read and no write, so it may wait.
      for (const setting of hasSession ? ['statement_timeout', 'lock_timeout'] : []) {
        await session.query(`SET ${setting} = 0`)
      }
      for (const setting of place.assumeOwner('SESSION')) await session.query(setting)
      await session.query(`ALTER TABLE ${place.qualify(table)} VALIDATE CONSTRAINT ${name}`)
    })
  } catch (error) {
    throw translatePostgresError(error)
  }
}

/** `ALTER TABLE orders` of `ALTER TABLE orders ADD COLUMN …`. */
const describeStatement = (text: string): string =>
  /^\s*(\w+ +\w+ +\w+)/.exec(text)?.[1] ?? 'the migration'

/** Returns the object of a name: `the table orders`, or `an index of the table former_orders`. */
async function describeTaken(read: Sessions['read'], name: string): Promise<string> {
  const text = `SELECT COALESCE('an index of the table ' || i.indrelid::regclass,
      'the table ' || c.oid::regclass) AS holder
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relname = $1 AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))`
  const [row] = (await read({ sql: '', text, values: [name] })) as Row[]
  return row?.holder ?? 'another object'
}

/**
 * Returns the oldest transaction that uses a table or partition of the statement, or an index that
 * it names; empty if it has ended.
 */
async function describeHolder(read: Sessions['read'], statement: string): Promise<string> {
  const text = `SELECT a.pid, a.application_name AS program, c.relname AS name,
      CASE WHEN c.relkind IN ('r', 'p') THEN 'table' ELSE 'index' END AS kind,
      floor(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint AS age_s
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_class c ON c.oid = l.relation
    WHERE l.granted AND l.locktype = 'relation' AND c.relkind IN ('r', 'p', 'i', 'I')
      AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))
      AND strpos($1, c.relname) > 0 AND a.pid <> pg_backend_pid()
    ORDER BY a.xact_start, kind DESC LIMIT 1`
  const [row] = (await read({ sql: '', text, values: [statement] })) as Row[]
  if (!row) return ''
  const program = row.program === '' ? '' : ` (${row.program})`
  return `: process ${row.pid}${program} has used ${row.kind} ${row.name} for ${row.age_s ?? 0} s`
}
