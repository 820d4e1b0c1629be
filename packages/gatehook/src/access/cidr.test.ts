import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressTest, isCidr } from './cidr.ts'

test('ranges and single addresses of both families', () => {
  for (const good of ['10.0.0.0/8', '0.0.0.0/0', '192.0.2.7', '::/0', '2001:db8::/32', '::1']) {
    assert(isCidr(good), good)
  }
  const bad = ['', '/', '10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/8/8', '10.0.0.0/08', 'a']
  for (const each of [...bad, '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8 ', 'fe80::1%eth0', '1.2.3']) {
    assert(!isCidr(each), each)
  }
})

test('an address is judged by every range', () => {
  const inside = addressTest(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'])
  const yes = ['10.255.0.1', '192.0.2.7', '2001:db8::9', '::ffff:10.1.2.3', '2001:db8::9%eth0']
  for (const each of yes) assert(inside(each), each)
  const no = ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::ffff:11.1.2.3', '', 'unix', '::1']
  for (const each of no) assert(!inside(each), each)
  assert(addressTest([])('anything'))
})
