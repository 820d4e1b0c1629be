/** Sentences that name the backup commands of PostgreSQL. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import {
  type DatabaseTarget,
  DEFAULT_SCHEMA,
  isLocalHost,
  parsePostgresAddress,
} from '../kernel/database-target.ts'
import { createLog } from '../kernel/log.ts'
import { type Config, databaseTarget, withoutPassword } from '../platform/config/config.ts'
import { databaseFile } from '../platform/config/environment.ts'
import { requireOneServer } from '../platform/storage/distribution/one-server.ts'
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

/** Returns the major version of the server. Throws the advice for distributed tables. */
async function readServerMajor(database: DatabaseTarget): Promise<number> {
  const db = await openDatabase(database, { log: createLog({ level: 'silent' }) })
  try {
    requireOneServer(db, () => new CommandError(DISTRIBUTED))
    const row = await db.get(sql`SELECT current_setting('server_version_num') AS version`)
    return Math.floor(Number(row!.version) / 10_000)
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

/** Parameters that libpq knows; pg has others, such as `statement_timeout`. */
const OF_LIBPQ = new Set(
  (
    'host hostaddr port dbname user passfile connect_timeout options application_name sslmode ' +
    'sslrootcert sslcert sslkey sslcrl sslnegotiation channel_binding gssencmode krbsrvname'
  ).split(' '),
)
/** Modes that Gatehook treats as `verify-full`. */
const VERIFIED = new Set(['prefer', 'require', 'verify-ca', 'verify-full'])
/** Clients before this version have no name for the certificates of the system. */
const KNOWS_SYSTEM = 16
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** Returns how libpq verifies the server as Gatehook does; undefined: as libpq likes. */
function sslModeOf(parameters: URLSearchParams, isLocal: boolean): string | undefined {
  const mode = parameters.get('sslmode')
  if (parameters.has('uselibpqcompat')) return mode ?? undefined
  if (mode === 'no-verify') return 'require'
  if (mode !== null) return VERIFIED.has(mode) ? 'verify-full' : mode
  const ssl = parameters.get('ssl')
  if (ssl !== null) return /^(1|true)$/.test(ssl) ? 'verify-full' : 'disable'
  return isLocal ? undefined : 'verify-full'
}

/**
 * Returns an address for the tools of PostgreSQL: they verify the server as Gatehook does, and use
 * the host that accepts writes. It has no password.
 *
 * @param client - the major version of the tool
 */
export function libpqAddress(text: string, client: number | undefined): string {
  const parsed = parsePostgresAddress(text)
  if (!parsed) return withoutPassword(text)
  const urls = parsed.urls.map((url) => new URL(url))
  const [{ username, searchParams: given }] = urls as [URL]
  const isLocal = urls.every(({ hostname }) => isLocalHost(given.get('host') ?? hostname))
  const parameters = new Map([...given].filter(([name]) => OF_LIBPQ.has(name)))
  const mode = sslModeOf(given, isLocal)
  if (mode !== undefined) parameters.set('sslmode', mode)
  if (mode === 'verify-full' && !parameters.has('sslrootcert')) {
    const isOld = client !== undefined && client < KNOWS_SYSTEM
    parameters.set('sslrootcert', isOld ? SYSTEM_CERTIFICATES : 'system')
  }
  if (parsed.requiresPrimary) parameters.set('target_session_attrs', 'read-write')
  const encode = (value: string) => encodeURIComponent(value).replaceAll('%2F', '/')
  const query = [...parameters].map(([name, value]) => `${name}=${encode(value)}`)
  const address = username ? parsed.label.replace('://', `://${username}@`) : parsed.label
  const whole = query.length > 0 ? `${address}?${query.join('&')}` : address
  return whole.replaceAll("'", '%27')
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
  const major = await readServerMajor(database)
  const tool = tools[task]
  const client = await clientMajor(tool)
  const address = libpqAddress(database.directUrl ?? database.url, client)
  // A dump of `public` alone would create it again, where it exists.
  const { schema = DEFAULT_SCHEMA } = database
  const only = schema === DEFAULT_SCHEMA ? '' : ` --schema=${schema}`
  const command =
    task === 'dump'
      ? `pg_dump --format=custom${only} --file=${file} '${address}'`
      : `pg_restore --exit-on-error --single-transaction --no-owner --dbname='${address}' ${file}`
  return (
    `PostgreSQL has its own tools for this: ${command}\n      ` +
    `${clientSentence(tool, client, major)} It reads the password from ~/.pgpass or the ` +
    'terminal.\n      The dump holds no master secret: store GATEHOOK_SECRET_KEY elsewhere.'
  )
}

/** Returns the SQLite file of the service. Throws the advice for one that uses PostgreSQL. */
export async function requireSqliteFile(
  config: Config,
  task: keyof typeof tools,
  file: string,
): Promise<string> {
  const database = databaseFile(config)
  if (database !== undefined) return database
  throw new CommandError(await pgDumpAdvice(task, databaseTarget(config), file))
}
