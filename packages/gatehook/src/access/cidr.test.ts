import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressTest, isCidr } from './cidr.ts'

test('a key is bound to its ranges, and one without any to nothing', () => {
  assert(isCidr('10.0.0.0/8'))
  assert(!isCidr('10.0.0.0/33'))
  const inside = addressTest(['10.0.0.0/8', '2001:db8::/32'])
  assert(inside('10.1.2.3'))
  assert(!inside('192.0.2.1'))
  assert(addressTest([])('anything'))
})
