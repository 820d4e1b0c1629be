/**
 * Which addresses a receiver may have (§9.9): one table, judged on the address dialled. Pure; who
 * looks names up and dials is `transport.ts`.
 */
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

/**
 * What `GATEHOOK_WEBHOOK_ALLOW_PRIVATE` opens: this machine and this network, nothing that bridges.
 */
const ALLOWED_IN_PRIVATE: ReadonlySet<AddressKind> = new Set(['loopback', 'private', 'shared'])

/**
 * The first range an address lies in decides, so exceptions stand before what holds them. From the
 * IANA registries of special-purpose addresses, and the places where clouds keep their metadata.
 */
export const REFUSED: readonly (readonly [range: string, kind: AddressKind])[] = [
  ['169.254.169.254/32', 'metadata'], // AWS, Google, Azure and most others
  ['169.254.170.0/24', 'metadata'], // credentials of AWS containers
  ['100.100.100.200/32', 'metadata'], // Alibaba, inside the shared space
  ['168.63.129.16/32', 'metadata'], // Azure's own host, a public address
  ['192.0.0.192/32', 'metadata'], // Oracle, the old one
  ['fd00:ec2::/32', 'metadata'], // AWS
  ['fd20:ce::/32', 'metadata'], // Google
  ['0.0.0.0/8', 'unspecified'], // Linux takes 0.0.0.0 for this machine
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
  ['::ffff:0:0/96', 'mapped'], // an IPv4 address in disguise: none of ours is written so
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
  ['fec0::/10', 'link_local'], // site-local, RFC 3879: deprecated, not gone
  ['ff00::/8', 'multicast'],
  // Only 2000::/3 is given out for global use.
  ['::/3', 'reserved'],
  ['4000::/2', 'reserved'],
  ['8000::/1', 'reserved'],
]

const rows = REFUSED.map(([range, kind]) => {
  const [address = '', bits] = range.split('/')
  const family = familyOf(isIP(address))
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family)
  return { list, family, kind }
})

/** What an address is that nobody outside may make us dial; undefined for a public one. */
export function addressKind(address: string): AddressKind | undefined {
  const zone = address.indexOf('%')
  const bare = zone < 0 ? address : address.slice(0, zone)
  const version = isIP(bare)
  if (version === 0) return 'not_an_address'
  const family = familyOf(version)
  return rows.find((row) => row.family === family && row.list.check(bare, family))?.kind
}

/** Whether an address may be dialled. Only an address is: a name is looked up first. */
export function isDialable(address: string, allowPrivate: boolean): boolean {
  const kind = addressKind(address)
  return kind === undefined || (allowPrivate && ALLOWED_IN_PRIVATE.has(kind))
}

function familyOf(version: number): 'ipv4' | 'ipv6' {
  return version === 4 ? 'ipv4' : 'ipv6'
}

export type TargetProblem = 'invalid' | 'not_https' | 'credentials' | 'fragment' | 'address'

const MAX_URL_CHARACTERS = 2048

/**
 * What is wrong with a receiver's URL as far as it can be seen without asking anybody: `address`
 * for a host that is an address we do not dial, in whatever spelling (`0x7f.1`, `[::ffff:7f00:1]`),
 * or a name that is this machine by definition.
 */
export function targetProblem(text: string, allowPrivate: boolean): TargetProblem | undefined {
  const url = text.length <= MAX_URL_CHARACTERS ? URL.parse(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'invalid'
  if (url.protocol === 'http:' && !allowPrivate) return 'not_https'
  // Empty ones (`//@host`) are none to URL.
  const authority = /^[^:]*:[\\/]*([^\\/?#]*)/.exec(text)?.[1] ?? ''
  if (authority.includes('@')) return 'credentials'
  if (text.includes('#')) return 'fragment' // an empty one is none to URL
  const host = hostOf(url)
  if (isIP(host) !== 0) return isDialable(host, allowPrivate) ? undefined : 'address'
  const local = /(^|\.)localhost\.?$/.test(host)
  return local && !allowPrivate ? 'address' : undefined
}

/** The host without the brackets of IPv6. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
