/** The reference service: two resources in two versions. */
import { service } from 'gatehook'
import { orders } from './resources/orders.ts'
import { users } from './resources/users.ts'

export const api = service({
  name: 'Gatehook reference service',
  license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  versions: {
    v1: { released: '2025-06-01' },
    v2: { released: '2026-06-01' },
  },
  resources: [users, orders],
  externalEvents: ['payment.succeeded'],
})
