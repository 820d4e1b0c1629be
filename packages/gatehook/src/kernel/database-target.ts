/** The addresses of a database: PostgreSQL on one host or on several, and its replicas. Pure. */
import { isLoopback } from './address.ts'

/** A database of a cluster of PostgreSQL. */
export interface DatabaseIdentity {
  /** The identifier of the cluster, which its copies share; null if it is not readable. */
  readonly system: string | null
  /** The object id: a copy has another one. */
  readonly oid: string
  readonly name: string
  /** The object id of a table of the engine: a dump replaces it. Null before the first start. */
  readonly table: string | null
}

/** How a process reaches its database. Plain values, which can be passed to another thread. */
export interface DatabaseTarget {
  /** `sqlite:FILE` or `postgres://…`, with up to 16 hosts. */
  readonly url: string
  /** `transaction`: a pooler that assigns a server connection to each transaction. */
  readonly pooler?: 'transaction' | undefined
  /** The address without the pooler, for notifications; without it there are none. */
  readonly directUrl?: string | undefined
  /** Further addresses of the installation, to recognize a former primary (§18.2). */
  readonly otherUrls?: readonly string[] | undefined
  /** PostgreSQL: the database in which the process began; undefined: the first one. */
  readonly origin?: DatabaseIdentity | undefined
  /** The name of the node, which its sessions have at PostgreSQL; undefined for a command. */
  readonly node?: string | undefined
  /** The disks that a commit waits for; undefined: those that the server is configured for. */
  readonly durability?: 'local' | 'replica' | undefined
  readonly connections?: ConnectionCounts | undefined
  /** PostgreSQL: the schema of all tables, in lower case; default `DEFAULT_SCHEMA`. */
  readonly schema?: string | undefined
  /** PostgreSQL: the role that creates and changes tables; default: that of the address. */
  readonly owner?: string | undefined
  /** Distributes the tables of a new database; a database that has them needs no option. */
  readonly distributed?: 'citus' | undefined
  /**
   * SQLite: the generation of the process that holds the file (`platform/storage/sqlite-owner.ts`).
   */
  readonly generation?: number | undefined
}

export const DEFAULT_SCHEMA = 'public'

interface ConnectionCounts {
  /** For the transactions of requests. */
  readonly transactions: number
  /** For reads outside transactions. */
  readonly reads: number
  /** For the transactions of the delivery engine. */
  readonly deliveries: number
}

/** Parts of an address of PostgreSQL. */
export interface PostgresAddress {
  /** One URL for each host, in the given order, without `target_session_attrs`. */
  readonly urls: readonly string[]
  /** Whether only the primary is a valid target. */
  readonly requiresPrimary: boolean
  /** The address without user, password and parameters. */
  readonly label: string
}

const HOSTS_MAX = 16
const SCHEME = /^postgres(?:ql)?:\/\//
const TARGET = 'target_session_attrs'
/** The values of libpq that name a server which accepts writes; `any` leaves the choice open. */
const TARGETS: Readonly<Record<string, boolean>> = {
  any: false,
  primary: true,
  'read-write': true,
}

/** Returns the index of the first of `ends` in the text; its length if there is none. */
function indexOfAny(text: string, ends: string): number {
  for (let at = 0; at < text.length; at++) if (ends.includes(text[at]!)) return at
  return text.length
}

/**
 * Parses `postgres://USER:PASSWORD@HOST1:PORT1,HOST2:PORT2/DATABASE?target_session_attrs=primary`;
 * undefined if it is not valid. With several hosts, the default target is the primary.
 */
export function parsePostgresAddress(text: string): PostgresAddress | undefined {
  const scheme = SCHEME.exec(text)?.[0]
  if (scheme === undefined) return undefined
  const end = scheme.length + indexOfAny(text.slice(scheme.length), '/?#')
  const authority = text.slice(scheme.length, end)
  const user = authority.slice(0, authority.lastIndexOf('@') + 1)
  const hosts = authority.slice(user.length).split(',')
  if (hosts.length > HOSTS_MAX) return undefined
  const urls: string[] = []
  let target: string | null = null
  let path = ''
  for (const host of hosts) {
    const url = URL.parse(`${scheme}${user}${host}${text.slice(end)}`)
    if (!url || (hosts.length > 1 && host === '')) return undefined
    target = url.searchParams.get(TARGET)
    if (target !== null) url.searchParams.delete(TARGET)
    path = url.pathname
    urls.push(url.href)
  }
  if (target !== null && !Object.hasOwn(TARGETS, target)) return undefined
  const requiresPrimary = target === null ? hosts.length > 1 : TARGETS[target]!
  return { urls, requiresPrimary, label: `${scheme}${hosts.join(',')}${path}` }
}

/** Whether a host is this machine: a loopback address, or the path of a socket. */
export const isLocalHost = (host: string): boolean =>
  host === '' || host.startsWith('/') || /^%2f/i.test(host) || isLoopback(host)
