/** IP addresses and address ranges as text. Pure; Node parses and matches them. */
import { BlockList, isIP } from 'node:net'

interface AddressRange {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

const MAPPED = '::ffff:'
const MAPPED_BITS = 96

/** Converts an IPv4 address mapped into IPv6 to IPv4; returns any other text unchanged. */
export const unmapAddress = (address: string): string =>
  address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address

/** Parses a CIDR (`10.0.0.0/8`, `2001:db8::/32`) or a single address; undefined for neither. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [written = '', bits, ...more] = text.toLowerCase().split('/')
  const family = isIP(written)
  if (more.length > 0 || family === 0 || written.includes('%')) return undefined
  const most = family === 4 ? 32 : 128
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined
  const length = bits === undefined ? most : Number(bits)
  if (length > most) return undefined
  const address = unmapAddress(written)
  if (address !== written && length >= MAPPED_BITS) {
    return { address, bits: length - MAPPED_BITS, family: 'ipv4' }
  }
  return { address: written, bits: length, family: family === 4 ? 'ipv4' : 'ipv6' }
}

/**
 * Returns a predicate: whether an address is in one of `ranges`. It is false for any other text.
 *
 * @throws {Error} A range is malformed; the message names it.
 */
export function createRangeMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const text of ranges) {
    const range = parseAddressRange(text)
    if (!range) throw new Error(`"${text}" is neither an address nor a CIDR.`)
    list.addSubnet(range.address, range.bits, range.family)
  }
  return (address) => {
    const zone = address.indexOf('%')
    const bare = unmapAddress(zone < 0 ? address : address.slice(0, zone))
    const family = isIP(bare)
    return family !== 0 && list.check(bare, family === 4 ? 'ipv4' : 'ipv6')
  }
}

const BLOCK_GROUPS = 4
/** The first six groups of `::ffff:0:0/96`. */
const MAPPED_GROUPS = '0,0,0,0,0,65535'

/**
 * Returns the block that counts as one caller: an IPv4 address, or the /64 of an IPv6 address,
 * which providers assign to one customer. Any spelling of a mapped IPv4 address yields that
 * address. Text that is no address is returned unchanged.
 */
export function addressBlock(address: string): string {
  const unmapped = unmapAddress(address)
  if (isIP(unmapped) !== 6) return unmapped
  const [head = '', tail] = (unmapped.split('%', 1)[0] ?? '').split('::')
  const before = groupsOf(head)
  const after = groupsOf(tail ?? '')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  const groups = [...before, ...zeros, ...after]
  if (groups.slice(0, 6).join() === MAPPED_GROUPS) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  }
  const block = groups.slice(0, BLOCK_GROUPS)
  return block.map((group) => group.toString(16)).join(':') + BLOCK_END
}

const BLOCK_END = '::/64'
const SITE_GROUPS = 3

/** Returns the /48 of a block of IPv6, the most that a site usually has; undefined for others. */
export function siteOfBlock(block: string): string | undefined {
  if (!block.endsWith(BLOCK_END)) return undefined
  return `${block.split(':', SITE_GROUPS).join(':')}::/48`
}

/** Parses the 16-bit groups of a part of an IPv6 address; an IPv4 suffix is two groups. */
const groupsOf = (text: string): number[] =>
  text === ''
    ? []
    : text
        .split(':')
        .flatMap((group) => (group.includes('.') ? pairsOf(group) : [Number.parseInt(group, 16)]))

function pairsOf(ipv4: string): [number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

const isLoopbackAddress = createRangeMatcher(['127.0.0.0/8', '::1'])

/** Returns whether an address or host name refers to this machine only. */
export function isLoopback(host: string): boolean {
  // The usual spellings first: the rest costs a microsecond.
  if (host === '127.0.0.1' || host === '::1') return true
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  return name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name)
}
