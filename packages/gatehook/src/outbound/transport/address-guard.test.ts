import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AddressKind, BLOCKED_RANGES, classifyAddress, isDialable } from './address-guard.ts'

/** The addresses at both edges of every range, listed independently of the table under test. */
const kinds: readonly (readonly [address: string, kind: AddressKind | undefined])[] = [
  ['0.0.0.0', 'unspecified'],
  ['0.255.255.255', 'unspecified'],
  ['1.0.0.0', undefined],
  ['9.255.255.255', undefined],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['11.0.0.0', undefined],
  ['100.63.255.255', undefined],
  ['100.64.0.0', 'shared'],
  ['100.127.255.255', 'shared'],
  ['100.128.0.0', undefined],
  ['100.100.100.200', 'metadata'],
  ['126.255.255.255', undefined],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['128.0.0.0', undefined],
  ['168.63.129.16', 'metadata'],
  ['169.253.255.255', undefined],
  ['169.254.0.1', 'link_local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['169.255.0.0', undefined],
  ['172.15.255.255', undefined],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.0', undefined],
  ['192.0.0.1', 'reserved'],
  ['192.0.0.192', 'metadata'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4'],
  ['192.167.255.255', undefined],
  ['192.168.0.0', 'private'],
  ['192.169.0.0', undefined],
  ['198.17.255.255', undefined],
  ['198.18.0.1', 'reserved'],
  ['198.20.0.0', undefined],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['223.255.255.255', undefined],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.254', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['8.8.8.8', undefined],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', 'reserved'],
  ['::7f00:1', 'reserved'], // IPv4-compatible, RFC 4291 §2.5.5.1
  ['::ffff:127.0.0.1', 'mapped'],
  ['::ffff:8.8.8.8', 'mapped'],
  ['::FFFF:7F00:1', 'mapped'],
  ['0:0:0:0:0:ffff:a00:1', 'mapped'],
  ['::ffff:0:127.0.0.1', 'mapped'],
  ['64:ff9b::7f00:1', 'nat64'],
  ['64:ff9b::10.0.0.1', 'nat64'],
  ['64:ff9b:1::1', 'nat64'],
  ['100::1', 'reserved'],
  ['1fff:ffff::', 'reserved'],
  ['2000::1', undefined],
  ['2001::1', 'teredo'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'teredo'],
  ['2001:2::1', 'reserved'],
  ['2001:20::1', 'reserved'],
  ['2001:200::1', undefined],
  ['2001:db8::1', 'documentation'],
  ['2001:db9::1', undefined],
  ['2002:7f00:1::', '6to4'],
  ['2003::1', undefined],
  ['2606:4700::1111', undefined],
  ['3fff:fff::1', 'documentation'],
  ['3fff:1000::1', undefined],
  ['4000::1', 'reserved'],
  ['5f00::1', 'reserved'],
  ['8000::1', 'reserved'],
  ['fc00::1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['fdff:ffff::1', 'private'],
  ['fe00::1', 'reserved'],
  ['fe80::1', 'link_local'],
  ['fe80::1%eth0', 'link_local'],
  ['febf::1', 'link_local'],
  ['fec0::1', 'link_local'],
  ['ff02::1', 'multicast'],
  ['', 'not_an_address'],
  ['localhost', 'not_an_address'],
  ['127.1', 'not_an_address'],
  ['0x7f.0.0.1', 'not_an_address'],
  ['127.0.0.1 ', 'not_an_address'],
  ['[::1]', 'not_an_address'],
]

test('addresses at the edges of every range have the kind that the registries assign', () => {
  for (const [address, kind] of kinds) assert.equal(classifyAddress(address), kind, address)
  const seen = new Set(kinds.map(([, kind]) => kind))
  for (const [range, kind] of BLOCKED_RANGES) assert.ok(seen.has(kind), `${range} has an example`)
})

test('GATEHOOK_WEBHOOK_ALLOW_PRIVATE adds loopback, private and shared addresses', () => {
  for (const [address, kind] of kinds) {
    const near = kind === 'loopback' || kind === 'private' || kind === 'shared'
    assert.equal(isDialable(address, false), kind === undefined, address)
    assert.equal(isDialable(address, true), kind === undefined || near, address)
  }
})

/** Matches a prefix bit by bit, without Node's `BlockList`. */
const inRange = (bytes: readonly number[], prefix: readonly number[], bits: number) =>
  Array.from({ length: bits }, (_, bit) => {
    const mask = 0x80 >> (bit % 8)
    const at = bit >> 3
    return ((bytes[at]! ^ prefix[at]!) & mask) === 0
  }).every(Boolean)

const byte = fc.integer({ min: 0, max: 255 })
const v4 = fc.array(byte, { minLength: 4, maxLength: 4 })
const v6 = fc.array(byte, { minLength: 16, maxLength: 16 })
const hex = (bytes: readonly number[]) =>
  Array.from({ length: 8 }, (_, n) => (bytes[2 * n]! * 256 + bytes[2 * n + 1]!).toString(16)).join(
    ':',
  )

test('IPv4 addresses of private, loopback, link-local and multicast ranges are not dialed', () => {
  const blockedPrefixes: readonly (readonly [number[], number])[] = [
    [[10, 0, 0, 0], 8],
    [[127, 0, 0, 0], 8],
    [[172, 16, 0, 0], 12],
    [[192, 168, 0, 0], 16],
    [[169, 254, 0, 0], 16],
    [[100, 64, 0, 0], 10],
    [[224, 0, 0, 0], 3],
    [[0, 0, 0, 0], 8],
  ]
  fc.assert(
    fc.property(v4, fc.nat(blockedPrefixes.length - 1), (bytes, index) => {
      const [prefix, bits] = blockedPrefixes[index]!
      const forced = bytes.map((octet, n) => {
        const keep = Math.min(8, Math.max(0, bits - 8 * n))
        const mask = (0xff << (8 - keep)) & 0xff
        return (prefix[n]! & mask) | (octet & ~mask & 0xff)
      })
      assert.ok(inRange(forced, prefix, bits))
      assert.equal(isDialable(forced.join('.'), false), false, forced.join('.'))
    }),
  )
})

test('IPv6 addresses that contain an IPv4 address or are not global are not dialed', () => {
  const carriers = [
    (four: number[], rest: number[]) => [...Array(10).fill(0), 255, 255, ...four, ...rest],
    (four: number[], rest: number[]) => [
      0,
      0x64,
      0xff,
      0x9b,
      ...Array(8).fill(0),
      ...four,
      ...rest,
    ],
    (four: number[], rest: number[]) => [0x20, 2, ...four, ...rest],
    (four: number[], rest: number[]) => [0x20, 1, 0, 0, ...four, ...rest],
    (four: number[], rest: number[]) => [...Array(12).fill(0), ...four, ...rest],
  ]
  fc.assert(
    fc.property(v4, v6, fc.nat(carriers.length - 1), (four, rest, index) => {
      const bytes = carriers[index]!(four, rest).slice(0, 16)
      assert.equal(isDialable(hex(bytes), false), false, hex(bytes))
    }),
  )
  fc.assert(
    fc.property(v6, (bytes) => {
      if (!inRange(bytes, [0x20], 3)) assert.equal(isDialable(hex(bytes), false), false)
    }),
  )
})
