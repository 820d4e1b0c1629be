/**
 * Host names into the addresses that are dialled, for deliveries. Which may be is said in
 * `address-guard.ts`.
 */
import { promises as dns } from 'node:dns'
import { readFile, stat } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import { CODE, coded } from './socket-error.ts'

export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Rejects, or gives an empty list, where a name has no address. */
export type ResolveHost = (host: string) => Promise<readonly HostAddress[]>

const TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Asks the name servers directly. The system's way (`getaddrinfo`) holds one of the process's four
 * worker threads while it waits, and the database's commits need them too: four names on a server
 * that does not answer would stop the whole node (§9.8). `servers`: in place of the machine's. As
 * in the system's way, `hosts` comes first: what stands there is known, and judged as it is.
 */
export function nameServers(
  servers?: readonly string[],
  hosts: ResolveHost = hostsFile('/etc/hosts'),
): ResolveHost {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return async (host) => {
    const local = await hosts(host).catch(() => [])
    if (local.length > 0) return local
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [
      ...(four.status === 'fulfilled' ? four.value : []).map((one) => at(one, 4)),
      ...(six.status === 'fulfilled' ? six.value : []).map((one) => at(one, 6)),
    ]
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  }
}

/** Names of a hosts file, read again when it has changed. Rejects where there is none. */
export function hostsFile(path: string): ResolveHost {
  let names: ReadonlyMap<string, readonly HostAddress[]> = new Map()
  let readAt: number | undefined
  return async (host) => {
    const { mtimeMs } = await stat(path)
    if (mtimeMs !== readAt) {
      names = namesIn(await readFile(path, 'utf8'))
      readAt = mtimeMs
    }
    return names.get(host.toLowerCase().replace(/\.$/, '')) ?? []
  }
}

/** Lines of an address and its names; IPv4 first, as everywhere here. */
function namesIn(text: string): Map<string, HostAddress[]> {
  const names = new Map<string, HostAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...of] = line.replace(/#.*/, '').trim().split(/\s+/)
    const version = isIP(address)
    if (version === 0) continue
    for (const name of of) {
      const key = name.toLowerCase()
      const known = names.get(key) ?? []
      const found = at(address, version === 6 ? 6 : 4)
      names.set(key, version === 6 ? [...known, found] : [found, ...known])
    }
  }
  return names
}

const at = (address: string, family: 4 | 6): HostAddress => ({ address, family })

/**
 * The system's way, with its hosts file and search domains: where private receivers are allowed,
 * they are mostly named there.
 */
export const systemNames: ResolveHost = async (host) =>
  (await dns.lookup(host, { all: true, order: 'ipv4first' })).map(({ address, family }) =>
    at(address, family === 6 ? 6 : 4),
  )

/** How many addresses of a name are tried: who sets up the name sets up how many it has. */
const MAX_ADDRESSES = 8

/** A lookup for `net.connect` that gives only what may be dialled, just before it is. */
export function guardedLookup(
  names: ResolveHost,
  mayDial: (address: string) => boolean,
): LookupFunction {
  return (host, { all }, callback) => {
    dialable(names(host), mayDial).then(
      (found) =>
        all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family),
      (error) => callback(error, ''),
    )
  }
}

/** A name that has only addresses nobody may dial is refused, one that has both is not. */
async function dialable(
  found: Promise<readonly HostAddress[]>,
  mayDial: (address: string) => boolean,
): Promise<HostAddress[]> {
  const addresses = await found.catch(() => [])
  if (addresses.length === 0) throw coded(CODE.dns)
  const allowed = addresses.filter(({ address }) => mayDial(address))
  if (allowed.length === 0) throw coded(CODE.blocked)
  return allowed.slice(0, MAX_ADDRESSES)
}
