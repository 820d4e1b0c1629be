import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitVersionSegment } from './version-segment.ts'

const roots = new Set(['orders', 'users', 'protected', '2fa'])

test('a segment that looks like a version is split off', () => {
  for (const segment of [
    'v1',
    'v2',
    'V1',
    'v01',
    'v1.2.3',
    '2',
    '2026-06-01',
    'latest',
    'STABLE',
  ]) {
    assert.deepEqual(splitVersionSegment(`/api/${segment}/orders/5`, roots), {
      path: '/api/orders/5',
      segment,
    })
  }
})

test('the whole segment is split off, also without a further path', () => {
  assert.deepEqual(splitVersionSegment('/api/v1', roots), { path: '/api', segment: 'v1' })
  assert.deepEqual(splitVersionSegment('/api/v1/', roots), { path: '/api/', segment: 'v1' })
  assert.deepEqual(splitVersionSegment('/api/v1/v2/orders', roots), {
    path: '/api/v2/orders',
    segment: 'v1',
  })
  assert.deepEqual(splitVersionSegment('/api/v1%2Forders', roots), {
    path: '/api',
    segment: 'v1%2Forders',
  })
})

test('the version of a path of a customer is split off', () => {
  assert.deepEqual(splitVersionSegment('/admin/as/cus_1/live/api/v1/orders/5', roots), {
    path: '/admin/as/cus_1/live/api/orders/5',
    segment: 'v1',
  })
})

test('other paths stay as they are', () => {
  const paths = [
    '/api/orders',
    '/api/users/v1',
    '/api/2fa/codes',
    '/api/',
    '/api',
    '/api//v1/orders',
    '/api/vendors',
    '/api/lateststuff/x',
    '/API/v1/orders',
    '/api/%761/orders',
    '/%61pi/v1/orders',
    '/events/v1',
    '/admin/as/cus_1/live/api/orders',
    '/admin/as/cus_1/live/events/v1',
    '/admin/as/cus_1/api/v1/orders',
    '/admin/as//live/api/v1/orders',
    '/admin/api/v1/orders',
    '/',
    '*',
  ]
  for (const path of paths)
    assert.deepEqual(splitVersionSegment(path, roots), { path, segment: undefined })
})
