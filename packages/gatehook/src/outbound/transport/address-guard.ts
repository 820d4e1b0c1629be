/** The table of addresses that receivers must not have (§9.9), applied when one is dialed. Pure. */
import { BlockList, isIP } from 'node:net'

export type AddressKind =
  | 'metadata'
  | 'loopback'
  | 'private'
  | 'link_local'
  | 'shared'
  | 'unspecified'
  | 'multicast'
  | 'broadcast'
  | 'documentation'
  | 'reserved'
  | 'mapped'
  | 'nat64'
  | '6to4'
  | 'teredo'
  | 'not_an_address'

/** `GATEHOOK_WEBHOOK_ALLOW_PRIVATE` allows this machine and its network, but no gateways. */
const ALLOWED_IN_PRIVATE: ReadonlySet<AddressKind> = new Set(['loopback', 'private', 'shared'])

/**
 * The first matching range decides, so exceptions precede the ranges that contain them. From the
 * IANA registries of special-purpose addresses and the metadata addresses of cloud providers.
 */
export const BLOCKED_RANGES: readonly (readonly [range: string, kind: AddressKind])[] = [
  ['169.254.169.254/32', 'metadata'], // AWS, Google, Azure and most others
  ['169.254.170.0/24', 'metadata'], // credentials of AWS containers
  ['100.100.100.200/32', 'metadata'], // Alibaba, inside the shared space
  ['168.63.129.16/32', 'metadata'], // Azure, a public address
  ['192.0.0.192/32', 'metadata'], // Oracle, former address
  ['fd00:ec2::/32', 'metadata'], // AWS
  ['fd20:ce::/32', 'metadata'], // Google
  ['0.0.0.0/8', 'unspecified'], // on Linux, 0.0.0.0 is this machine
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared'], // RFC 6598: carriers, and overlay networks
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link_local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'], // RFC 6890
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4'], // RFC 7526: relays
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'reserved'], // RFC 2544: benchmarks
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::ffff:0:0/96', 'mapped'], // IPv4 mapped into IPv6
  ['::ffff:0:0:0/96', 'mapped'], // RFC 2765, the same for translators
  ['64:ff9b::/96', 'nat64'],
  ['64:ff9b:1::/48', 'nat64'], // RFC 8215
  ['2001::/32', 'teredo'],
  ['2001::/23', 'reserved'], // RFC 2928: ORCHID, benchmarks
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['3fff::/20', 'documentation'], // RFC 9637
  ['fc00::/7', 'private'], // unique local, RFC 4193
  ['fe80::/10', 'link_local'],
  ['fec0::/10', 'link_local'], // site-local, deprecated by RFC 3879
  ['ff00::/8', 'multicast'],
  // Only 2000::/3 is assigned for global use.
  ['::/3', 'reserved'],
  ['4000::/2', 'reserved'],
  ['8000::/1', 'reserved'],
]

const rows = BLOCKED_RANGES.map(([range, kind]) => {
  const [address = '', bits] = range.split('/')
  const family = familyOf(isIP(address))
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family)
  return { list, family, kind }
})

/** Returns the kind of a blocked address; undefined for a public one. */
export function classifyAddress(address: string): AddressKind | undefined {
  const zone = address.indexOf('%')
  const bare = zone < 0 ? address : address.slice(0, zone)
  const version = isIP(bare)
  if (version === 0) return 'not_an_address'
  const family = familyOf(version)
  return rows.find((row) => row.family === family && row.list.check(bare, family))?.kind
}

/** Returns whether an address may be dialed; false for a host name. */
export function isDialable(address: string, allowPrivate: boolean): boolean {
  const kind = classifyAddress(address)
  return kind === undefined || (allowPrivate && ALLOWED_IN_PRIVATE.has(kind))
}

function familyOf(version: number): 'ipv4' | 'ipv6' {
  return version === 4 ? 'ipv4' : 'ipv6'
}
