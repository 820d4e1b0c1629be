import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressBlock,
  createRangeMatcher,
  isLoopback,
  parseAddressRange,
  siteOfBlock,
  unmapAddress,
} from './address.ts'

test('a range is a CIDR or a single address of either family', () => {
  for (const text of ['10.0.0.0/8', '0.0.0.0/0', '192.0.2.7', '::/0', '2001:DB8::/32', '::1']) {
    assert(parseAddressRange(text), text)
  }
  const bad = ['', '/', '10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/8/8', '10.0.0.0/08', 'a']
  for (const each of [...bad, '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8 ', 'fe80::1%eth0', '1.2.3']) {
    assert.equal(parseAddressRange(each), undefined, each)
    assert.throws(() => createRangeMatcher([each]), /neither an address nor a CIDR/, each)
  }
  assert.deepEqual(parseAddressRange('10.0.0.0/8'), {
    address: '10.0.0.0',
    bits: 8,
    family: 'ipv4',
  })
  assert.deepEqual(parseAddressRange('2001:DB8::1'), {
    address: '2001:db8::1',
    bits: 128,
    family: 'ipv6',
  })
})

test('an IPv4 address mapped into IPv6 counts as IPv4', () => {
  assert.equal(unmapAddress('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(unmapAddress('::1'), '::1')
  const mapped = parseAddressRange('::ffff:10.0.0.0/104')
  assert.deepEqual(mapped, { address: '10.0.0.0', bits: 8, family: 'ipv4' })
  for (const wide of ['::ffff:10.0.0.0/104', '::ffff:0.0.0.0/95']) {
    assert(createRangeMatcher([wide])('::ffff:10.9.9.9'), wide)
  }
})

test('an address matches if any range contains it', () => {
  const inside = createRangeMatcher(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'])
  const yes = ['10.255.0.1', '192.0.2.7', '2001:db8::9', '::ffff:10.1.2.3', '2001:db8::9%eth0']
  for (const each of yes) assert(inside(each), each)
  const no = ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::ffff:11.1.2.3', '', 'unix', '::1']
  for (const each of no) assert(!inside(each), each)
  assert(!createRangeMatcher([])('10.0.0.1'))
})

test('loopback addresses and names refer to this machine only', () => {
  const local = ['127.0.0.1', '127.9.9.9', '::1', '[::1]', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1']
  for (const host of [...local, 'localhost', 'LOCALHOST', 'api.localhost']) {
    assert(isLoopback(host), host)
  }
  const far = ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example', '']
  for (const host of [...far, 'mylocalhost', '::ffff:10.0.0.1']) assert(!isLoopback(host), host)
})

test('a block is an IPv4 address in any spelling, or the /64 of an IPv6 address', () => {
  const mapped = [
    '::ffff:192.0.2.1',
    '::FFFF:192.0.2.1',
    '::ffff:c000:201',
    '0:0:0:0:0:ffff:c000:0201',
  ]
  for (const text of ['192.0.2.1', ...mapped]) assert.equal(addressBlock(text), '192.0.2.1', text)
  const same = ['2001:db8:0:1::', '2001:DB8::1:0:0:0:7', '2001:db8:0:1:ffff:ffff:ffff:ffff%eth0']
  for (const text of same) assert.equal(addressBlock(text), '2001:db8:0:1::/64', text)
  assert.equal(addressBlock('::1'), '0:0:0:0::/64')
  assert.equal(addressBlock('2001:db8:0:2::192.0.2.1'), '2001:db8:0:2::/64')
  assert.equal(addressBlock('nowhere'), 'nowhere')
})

test('the site of a block of IPv6 is its /48', () => {
  for (const [address, site] of [
    ['2001:db8:7:8::1', '2001:db8:7::/48'],
    ['2001:db8::1', '2001:db8:0::/48'],
    ['::1', '0:0:0::/48'],
    ['192.0.2.1', undefined],
    ['::ffff:192.0.2.1', undefined],
    ['unix', undefined],
  ] as const) {
    assert.equal(siteOfBlock(addressBlock(address)), site, address)
  }
})
