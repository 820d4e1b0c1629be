/** Address ranges a key may be used from (§3.2). Pure; parsing and matching are Node's. */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

interface Range {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address; undefined when it is neither. */
function parseRange(text: string): Range | undefined {
  const [address = '', bits, ...more] = text.split('/')
  if (more.length > 0 || address.includes('%')) return undefined
  const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : undefined
  if (!family) return undefined
  const most = family === 'ipv4' ? 32 : 128
  if (bits === undefined) return { address, bits: most, family }
  if (!/^(0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > most) return undefined
  return { address, bits: Number(bits), family }
}

export const isCidr = (text: string): boolean => parseRange(text) !== undefined

/** Whether an address lies in one of `ranges`; no ranges: everywhere is fine. */
export function addressTest(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => true
  const list = new BlockList()
  for (const text of ranges) {
    const range = parseRange(text)
    if (!range) throw new Error(`stored range is not a CIDR: ${text}`)
    list.addSubnet(range.address, range.bits, range.family)
  }
  return (address) => {
    const zone = address.indexOf('%')
    const bare = zone < 0 ? address : address.slice(0, zone)
    // An IPv4 caller on a dual-stack socket is ::ffff:a.b.c.d; BlockList reads it as the IPv4 address.
    if (isIPv4(bare)) return list.check(bare, 'ipv4')
    return isIPv6(bare) && list.check(bare, 'ipv6')
  }
}
