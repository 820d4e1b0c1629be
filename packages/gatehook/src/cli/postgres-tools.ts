/** Sentences that name the backup commands of PostgreSQL. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type DatabaseTarget, DEFAULT_SCHEMA } from '../kernel/database-target.ts'
import { createLog } from '../kernel/log.ts'
import {
  type Config,
  databaseAddress,
  databaseTarget,
  withoutPassword,
} from '../platform/config/config.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { sql } from '../platform/storage/sql.ts'
import { CommandError } from './errors.ts'

const run = promisify(execFile)
const VERSION_LIMIT_MS = 5_000

const tools = { dump: 'pg_dump', restore: 'pg_restore' } as const

/** Returns the major version of an installed client; undefined when there is none. */
async function clientMajor(tool: string): Promise<number | undefined> {
  try {
    const { stdout } = await run(tool, ['--version'], { timeout: VERSION_LIMIT_MS })
    const major = / (\d+)/.exec(stdout)?.[1]
    return major === undefined ? undefined : Number(major)
  } catch {
    return undefined
  }
}

async function readServer(database: DatabaseTarget) {
  const db = await openDatabase(database, { log: createLog({ level: 'silent' }) })
  try {
    const row = await db.get(sql`SELECT current_setting('server_version_num') AS version`)
    const major = Math.floor(Number(row!.version) / 10_000)
    return { major, isDistributed: db.dialect.distributed }
  } finally {
    await db.close()
  }
}

export function clientSentence(tool: string, client: number | undefined, server: number): string {
  if (client === undefined) {
    return `${tool} is not installed here; install the client of PostgreSQL ${server} or newer.`
  }
  return client < server
    ? `${tool} here is version ${client} and refuses a server of version ${server}; ` +
        `install the client of PostgreSQL ${server} or newer.`
    : `${tool} here is version ${client}, which fits the server (${server}).`
}

const DISTRIBUTED =
  'The tables are distributed by Citus. Back up the coordinator and each worker physically, with ' +
  'a common point from citus_create_restore_point, and restore all of them to it.'

/** Returns how PostgreSQL backs up or restores this database. Throws when it cannot be reached. */
async function pgDumpAdvice(
  task: keyof typeof tools,
  database: DatabaseTarget,
  file: string,
): Promise<string> {
  const { major, isDistributed } = await readServer(database)
  if (isDistributed) return DISTRIBUTED
  const tool = tools[task]
  const address = withoutPassword(database.directUrl ?? database.url)
  // A dump of `public` alone would create it again, where it exists.
  const { schema = DEFAULT_SCHEMA } = database
  const only = schema === DEFAULT_SCHEMA ? '' : ` --schema=${schema}`
  const command =
    task === 'dump'
      ? `pg_dump --format=custom${only} --file=${file} '${address}'`
      : `pg_restore --exit-on-error --single-transaction --no-owner --dbname='${address}' ${file}`
  const sentence = clientSentence(tool, await clientMajor(tool), major)
  return (
    `PostgreSQL has its own tools for this: ${command}\n      ${sentence}\n      ` +
    'The dump holds no master secret: store GATEHOOK_SECRET_KEY elsewhere.'
  )
}

/** Returns the SQLite file of the service. Throws the advice for one that uses PostgreSQL. */
export async function requireSqliteFile(
  config: Config,
  task: keyof typeof tools,
  file: string,
): Promise<string> {
  const address = databaseAddress(config.databaseUrl)
  if (address.kind === 'sqlite') return address.file
  throw new CommandError(await pgDumpAdvice(task, databaseTarget(config), file))
}
