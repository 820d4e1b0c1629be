/** Resolves the host names of receivers to addresses that may be dialed (`address-guard.ts`). */
import { promises as dns } from 'node:dns'
import { readFile, stat } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isDialable } from './address-guard.ts'
import { CODE, createCodedError } from './socket-error.ts'

export interface HostAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Rejects, or resolves with an empty list, if a name has no address. */
export type ResolveHost = (host: string) => Promise<readonly HostAddress[]>

const TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Returns a resolver that queries name servers directly, after the public addresses of the hosts
 * file. `getaddrinfo` would hold one of the four worker threads of the process while it waits, and
 * database commits need these as well: four names on a server that does not respond would stop the
 * node (§9.8).
 *
 * @param servers Replaces the name servers of the machine.
 */
export function createDnsResolver(
  servers?: readonly string[],
  hosts: ResolveHost = readHostsFile('/etc/hosts'),
): ResolveHost {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return async (host) => {
    const listed = await hosts(host).catch(() => [])
    // A name with private addresses is queried as an unknown one is: an error that comes at once
    // would show that the hosts file has the name.
    const local = listed.filter(({ address }) => isDialable(address, false))
    if (local.length > 0) return local
    const [ipv4, ipv6] = await Promise.allSettled([
      resolver.resolve4(host),
      resolver.resolve6(host),
    ])
    const addresses: HostAddress[] = []
    if (ipv4.status === 'fulfilled') {
      for (const address of ipv4.value) addresses.push({ address, family: 4 })
    }
    if (ipv6.status === 'fulfilled') {
      for (const address of ipv6.value) addresses.push({ address, family: 6 })
    }
    if (addresses.length === 0 && ipv4.status === 'rejected') throw ipv4.reason
    return addresses
  }
}

/** Returns a resolver for the names of a hosts file, which it rereads after a change. */
export function readHostsFile(path: string): ResolveHost {
  let names: ReadonlyMap<string, readonly HostAddress[]> = new Map()
  let readMtimeMs: number | undefined
  return async (host) => {
    const { mtimeMs } = await stat(path)
    if (mtimeMs !== readMtimeMs) {
      names = parseHosts(await readFile(path, 'utf8'))
      readMtimeMs = mtimeMs
    }
    return names.get(host.toLowerCase().replace(/\.$/, '')) ?? []
  }
}

/** Parses lines of an address and its names; of each name, IPv4 addresses come first. */
function parseHosts(text: string): Map<string, HostAddress[]> {
  const addressesByName = new Map<string, HostAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const version = isIP(address)
    if (version === 0) continue
    for (const name of names.map((text) => text.toLowerCase())) {
      const addresses = addressesByName.get(name) ?? []
      if (version === 6) addresses.push({ address, family: 6 })
      else addresses.unshift({ address, family: 4 })
      addressesByName.set(name, addresses)
    }
  }
  return addressesByName
}

/**
 * Resolves a name as the system does, with hosts file and search domains: private receivers are
 * mostly named there.
 */
export const resolveBySystem: ResolveHost = async (host) =>
  (await dns.lookup(host, { all: true, order: 'ipv4first' })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }))

/** The owner of a name decides how many addresses it has; at most this many are tried. */
const MAX_ADDRESSES = 8

/** Returns a lookup for `net.connect` that yields only addresses for which `isAllowed` is true. */
export function createGuardedLookup(
  resolve: ResolveHost,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  const resolveAllowed = async (host: string): Promise<HostAddress[]> => {
    const addresses = await resolve(host).catch(() => [])
    const allowedAddresses = addresses.filter(({ address }) => isAllowed(address))
    if (allowedAddresses.length === 0) throw createCodedError(CODE.address)
    return allowedAddresses.slice(0, MAX_ADDRESSES)
  }
  return (host, { all }, callback) => {
    resolveAllowed(host).then(
      (addresses) =>
        all
          ? callback(null, addresses)
          : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error) => callback(error, ''),
    )
  }
}
