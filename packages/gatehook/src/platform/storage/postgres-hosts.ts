/**
 * The hosts of a PostgreSQL address: which one new connections use, TLS, and the settings of their
 * sessions. Opens no connection.
 */
import type { PoolConfig } from 'pg'
import {
  type DatabaseTarget,
  isLocalHost,
  parsePostgresAddress,
} from '../../kernel/database-target.ts'
import { StorageError } from './database.ts'
import { LOCK_MS } from './lock-wait.ts'
import { sessionName } from './session-name.ts'

/** The time in which a connection must open, or one of the pool must become free. */
const CONNECT_MS = 2_000
/** A connection is probed after this time without packets: its host may have restarted. */
const KEEP_ALIVE_MS = 5_000
/** The server ends a statement that takes longer. */
export const STATEMENT_MS = 30_000
/**
 * The server ends a transaction that is idle for this time, and releases its locks: its node hangs,
 * or has lost its network. Others of that node, which wait for the same row, get the lock one after
 * the other, until their `lock_timeout`: three of them hold it for 9 s in all.
 */
export const IDLE_IN_TRANSACTION_MS = 3_000
/** The server probes a connection without packets, and ends one whose node confirms none. */
const LOST_NODE_MS = 10_000
const PROBE_MS = 3_000

type SessionSettings = Readonly<Record<string, string | number>>

/**
 * The forms of values and of texts of SQL that the engine reads and writes. The role or the
 * database may have others: numbers would lose digits, and literals their backslashes.
 */
const FORMS: SessionSettings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO,MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
  array_nulls: 'on',
}

/**
 * Without parallel workers, UNION ALL returns its branches in their order in the text. The settings
 * of ordered reads add 1e10 to the cost of a plan that sorts, for which the server would compile
 * each execution (`jit`, its default): ten times as long as the statement.
 */
const SESSION_SETTINGS: SessionSettings = {
  ...FORMS,
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  client_min_messages: 'warning',
  lock_timeout: LOCK_MS,
  statement_timeout: STATEMENT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
}

/** Settings of the connection to a node, which ends at a pooler, if there is one. */
const CONNECTION_SETTINGS: SessionSettings = {
  // Connections that listen, or that wait for reads, are idle.
  idle_session_timeout: 0,
  tcp_keepalives_idle: LOST_NODE_MS / 1_000,
  tcp_keepalives_interval: PROBE_MS / 1_000,
  tcp_user_timeout: LOST_NODE_MS,
}

export interface PostgresHosts {
  readonly count: number
  /** Whether a connection to a standby is of no use. */
  readonly requiresPrimary: boolean
  /** Whether the address is that of a pooler. */
  readonly isPooled: boolean
  /** The address without secrets. */
  readonly label: string
  /** Whether the address leaves TLS to its default: verified, because a host is not local. */
  readonly verifiesByDefault: boolean
  /** Identifies the host that new connections use. */
  current(): number
  /** Selects the next host after `failed`, unless another connection has selected one already. */
  moveOn(failed: number): void
  /** Returns the configuration of a connection to the current host. */
  config(): PoolConfig
  /** The configurations of connections to all hosts. */
  readonly all: readonly PoolConfig[]
  /** Settings that a transaction begins with, because its session has none: behind a pooler. */
  readonly localSettings: string
}

interface HostsOptions extends Pick<DatabaseTarget, 'pooler' | 'node'> {
  /** Further settings of the sessions. */
  readonly settings?: SessionSettings
}

/** Throws `StorageError` for an invalid address. */
export function createHosts(address: string, options: HostsOptions): PostgresHosts {
  const parsed = parsePostgresAddress(address)
  if (!parsed) throw new StorageError('The address of the database is not a URL.')
  const settings = { ...SESSION_SETTINGS, ...options.settings }
  const isPooled = options.pooler !== undefined
  const ofSession = isPooled ? {} : { ...CONNECTION_SETTINGS, ...settings }
  const hosts = parsed.urls.map((url) => hostConfig(new URL(url), ofSession))
  if (isPooled && hosts.some(({ hasOptions }) => hasOptions)) {
    throw new StorageError(
      'The address of the database has `options`, which a pooler does not forward. ' +
        'Set them on the role: ALTER ROLE … SET ….',
    )
  }
  const configs = hosts.map(({ config }) => ({
    ...config,
    application_name: sessionName(options.node),
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
  }))
  let current = 0
  return {
    count: configs.length,
    requiresPrimary: parsed.requiresPrimary,
    isPooled,
    label: parsed.label,
    verifiesByDefault: configs.some(({ ssl }) => ssl !== undefined),
    localSettings: isPooled ? setLocally(settings) : '',
    current: () => current,
    moveOn(failed) {
      if (current === failed) current = (failed + 1) % configs.length
    },
    config: () => configs[current]!,
    all: configs,
  }
}

const setLocally = (settings: SessionSettings): string =>
  Object.entries(settings)
    .map(([name, value]) => `; SET LOCAL ${name} = '${value}'`)
    .join('')

/** Modes of libpq that pg treats as `verify-full`, with a warning about a later release. */
const VERIFIED_MODES = new Set(['prefer', 'require', 'verify-ca'])
const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation']

function hostConfig(url: URL, settings: SessionSettings) {
  const parameters = url.searchParams
  const mode = parameters.get('sslmode')
  if (mode !== null && VERIFIED_MODES.has(mode) && !parameters.has('uselibpqcompat')) {
    parameters.set('sslmode', 'verify-full')
  }
  const hasOptions = parameters.has('options')
  if (/search[_-]path/i.test(parameters.get('options') ?? '')) {
    throw new StorageError(
      'The address of the database sets search_path in its `options`, and only a part of the ' +
        'statements would follow it. Remove it, and name the schema in GATEHOOK_DATABASE_SCHEMA.',
    )
  }
  const names = Object.entries(settings)
  if (names.length > 0) {
    // In pg, options of the URL replace those of the configuration, so both go into the URL. The
    // operator's come last and take precedence.
    const own = names.map(([name, value]) => `-c ${name}=${value}`).join(' ')
    parameters.set('options', `${own} ${parameters.get('options') ?? ''}`.trim())
  }
  const host = parameters.get('host') ?? url.hostname
  const isTlsGiven = TLS_PARAMETERS.some((name) => parameters.has(name))
  const config: PoolConfig = {
    connectionString: url.href,
    ...(!isTlsGiven && !isLocalHost(host) && { ssl: { rejectUnauthorized: true } }),
  }
  return { config, hasOptions }
}
