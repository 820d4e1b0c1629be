/** The service of row 23r: lists of orders by fields of the users to which they refer. */
import { resource, service } from 'gatehook'
import { orderOptions, userOptions } from '../collections/service.ts'

const orders = resource('orders', {
  ...orderOptions,
  list: {
    filter: ['user_id', 'user.name', 'user.created_at'],
    sort: ['id', 'user.name', 'user.email'],
  },
})

export const api = service({
  name: 'bench of relations',
  versions: { v1: { released: '2024-06-01' }, v2: { released: '2025-06-01' } },
  resources: [resource('users', userOptions), orders],
})
