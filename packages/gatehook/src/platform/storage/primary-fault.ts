/**
 * The ways in which the primary of a database is away, each with a sentence for operators. The
 * sentences name no address: `/readyz` returns them to any caller. Pure.
 */
export const primaryFaults = {
  refused:
    'The primary of the database refuses connections: its server does not run. Start it, or ' +
    'promote a standby.',
  silent:
    'The primary of the database has not answered for 2 s: its machine is frozen or overloaded, ' +
    'or the network loses its packets.',
  slow:
    'The path between this node and the database is slow: the database answers, and no ' +
    'connection to it opens within 2 s. The network delays or loses packets, or one of both ' +
    'machines is overloaded.',
  full:
    'The server of the database has no connection left for this node. Raise max_connections, or ' +
    'end other connections.',
  full_role:
    'The role of this node has no connection left: ALTER ROLE NAME CONNECTION LIMIT -1, or end ' +
    'others of it.',
  full_database:
    'The database has no connection left for this node: ALTER DATABASE NAME CONNECTION LIMIT -1, ' +
    'or end others.',
  starting: 'The server of the database starts, stops or recovers. Wait until it has finished.',
  standby:
    'No server of the address accepts writes: each is a standby or a former primary. Promote a ' +
    'standby.',
  other_database:
    'The address of the database leads to another database than at the start of this node, which ' +
    'reads and writes nothing there. Point the address back; after a move, restart the node.',
  restored:
    'A dump was restored into the database while this node used it. The node reads and writes ' +
    'nothing there, because it would give ids twice. Once the dump is complete, restart all ' +
    'nodes: the start recognizes restored data.',
  unreachable: 'The host of the database is not reachable: the network has no route to it.',
  unresolved:
    'The resolver of this node has no answer for the host in the address of the database: the ' +
    'database may be sound. Repair the DNS, or /etc/resolv.conf; the log names host and resolver.',
  unknown_host:
    'The host in the address of the database has no address in the DNS: the database may be ' +
    'sound. Correct the DNS or the address; the log names host and resolver.',
  untrusted:
    'No TLS connection to the database opens: its certificate has expired, names another host or ' +
    'is of an authority that this node does not trust, or its server has no TLS. Correct the ' +
    'certificate, or sslrootcert of the address; the log has the reason.',
  disallowed:
    'The database accepts no connections: its ALLOW_CONNECTIONS is false. Set it: ALTER DATABASE ' +
    'NAME ALLOW_CONNECTIONS true.',
  cold:
    'The server of the database is a standby that accepts no connections: its hot_standby is ' +
    'off. Promote it, or switch hot_standby on.',
  forbidden:
    'The role of this node may not connect to the database: GRANT CONNECT ON DATABASE NAME ' +
    'TO ROLE.',
  password:
    'The database rejects the password of this node: it is wrong or has expired, or its role was ' +
    'renamed or dropped; PostgreSQL does not say which. Correct the address, or: ALTER ROLE NAME ' +
    "PASSWORD '…' VALID UNTIL 'infinity'.",
  unknown_role:
    'The role of this node does not exist: it was renamed or dropped. Correct the user of the ' +
    'address, or: ALTER ROLE OTHER RENAME TO NAME.',
  no_login: 'The role of this node may not log in: ALTER ROLE NAME LOGIN.',
  unknown_database:
    'The database of this node does not exist: it was renamed or dropped. Correct the address, ' +
    'or: ALTER DATABASE OTHER RENAME TO NAME.',
  host_rules:
    'The server of the database rejects the host of this node: its pg_hba.conf has no entry for ' +
    'host, role and database, or one that rejects them. Correct it, then: SELECT pg_reload_conf().',
  options:
    'The database does not accept a setting in `options` of its address: the log names it. ' +
    'Correct or remove it.',
  library:
    'The server of the database lacks a library that it loads for each session of this node: ' +
    'session_preload_libraries or local_preload_libraries of the role, the database or the ' +
    'server names it. Install it, or: ALTER ROLE NAME RESET session_preload_libraries. The log ' +
    'names it.',
  rejected: 'The database rejects this node: the log has its reason. Correct role or address.',
  pooler_refused:
    'The pooler at GATEHOOK_DATABASE_URL refuses connections: it does not run. Start it.',
  pooler_stuck:
    'The database answers, and its pooler does not serve this node: it hangs, has no connection ' +
    'to the database, or the network to it loses packets. Its log, or that of the network, has ' +
    'the reason.',
  pooler_full:
    'The pooler has no connection left for this node. Raise its max_client_conn, or end clients.',
  pooler_pool:
    'The pooler gives this node no connection to the database within a second, while it serves ' +
    'others: its pool is too small, or keeps a connection for each client. Raise ' +
    'default_pool_size (pool_size, max_db_connections), or set pool_mode = transaction.',
  pooler_standby:
    'The pooler leads to a standby or a former primary, which accepts no writes. Point it to the ' +
    'primary, or promote a standby.',
  pooler_rejected:
    'The pooler rejects this node, or the database rejects the pooler: it lacks the database or ' +
    'the role, or has a wrong password. Correct its databases and roles; the log has the reason.',
  pooler_mode:
    'The pooler has pool_mode = statement, in which no transaction runs: set pool_mode = ' +
    'transaction for this database.',
  pooler_unserved:
    'The pooler has no connection to the database, and this node cannot see why: the log of the ' +
    'pooler has the reason. With GATEHOOK_DATABASE_DIRECT_URL, the node names it.',
  lost:
    'The connections to the primary of the database break: the network or a proxy cuts them, or ' +
    'the server behind it does not run.',
  hung:
    'Connections to the database hang, while the database opens others: the network has lost ' +
    'them, or processes of the server are frozen. The node replaces them.',
} as const satisfies Readonly<Record<string, string>>

export type PrimaryFault = keyof typeof primaryFaults

/** The server answers, and too late for this node: a connection did not open in time. */
export class SlowServerError extends Error {
  override readonly name = 'SlowServerError'
  readonly code = 'ETIMEDOUT'
}

const SENTENCES: ReadonlySet<string> = new Set(Object.values(primaryFaults))

export const isPrimarySentence = (text: string): boolean => SENTENCES.has(text)

const OF_POOLER: Partial<Record<PrimaryFault, PrimaryFault>> = {
  refused: 'pooler_refused',
  full: 'pooler_full',
  full_role: 'pooler_full',
  full_database: 'pooler_full',
  standby: 'pooler_standby',
  password: 'pooler_rejected',
  unknown_role: 'pooler_rejected',
  no_login: 'pooler_rejected',
  unknown_database: 'pooler_rejected',
  host_rules: 'pooler_rejected',
  rejected: 'pooler_rejected',
}

/**
 * Returns the fault that a node sees through a pooler, which reports no reason of the server.
 * `direct`: the fault of the primary without the pooler; null: it answers; undefined: not known.
 */
export function faultThroughPooler(
  fault: PrimaryFault,
  direct: PrimaryFault | null | undefined,
): PrimaryFault {
  if (fault !== 'silent' && fault !== 'pooler_unserved') return OF_POOLER[fault] ?? fault
  return direct === null ? 'pooler_stuck' : (direct ?? fault)
}

/** Refusals by their state, and by their text where a state has several reasons. */
const REFUSALS: readonly (readonly [state: RegExp, text: RegExp, fault: PrimaryFault])[] = [
  // PgBouncer repeats the text of the server.
  [/^(58P01|XX000|42501|08...)$/, /could not (access file|load library)|to library "/, 'library'],
  [/^08/, /statement pooling mode/, 'pooler_mode'],
  [/^28P01$/, /^/, 'password'],
  // Of pg, before it sends a password.
  [/^$/, /^SASL: /, 'password'],
  [/^28000$/, /does not exist$/, 'unknown_role'],
  [/^28000$/, /not permitted to log in$/, 'no_login'],
  [/^28000$/, /pg_hba\.conf/, 'host_rules'],
  [/^42501$/, /^/, 'forbidden'],
  [/^3D000$/, /^/, 'unknown_database'],
  [/^(42704|22023)$/, /^/, 'options'],
  // Statements have other reasons for it.
  [/^55000$/, /^/, 'disallowed'],
  [/^53300$/, / for role "/, 'full_role'],
  [/^53300$/, / for database "/, 'full_database'],
]

/** Returns why a server refuses a connection; undefined if the error is none of these refusals. */
export const refusalFaultOf = (code: string, message: string): PrimaryFault | undefined =>
  REFUSALS.find(([state, text]) => state.test(code) && text.test(message))?.[2]

/** Whether the server has no connection left for the node: it answers on those that are open. */
export const isFull = (fault: PrimaryFault | undefined): boolean =>
  fault === 'full' || fault === 'full_role' || fault === 'full_database'

/** Whether the name of the host gave no address, so that no server was queried. */
export const isNameFault = (fault: PrimaryFault | undefined): boolean =>
  fault === 'unresolved' || fault === 'unknown_host'

/** Whether a pooler leads to another server than the primary of the database. */
export const isElsewhere = (fault: PrimaryFault | undefined): boolean =>
  fault === 'standby' || fault === 'other_database' || fault === 'restored'

/** Whether the server of a pooler is away, while the pooler itself answers. */
export const isOfPooledServer = (fault: PrimaryFault | undefined): boolean =>
  fault === 'pooler_unserved' || fault === 'library'
