/** The service of row 23r: lists of orders by fields of the users to which they refer. */
import { f, resource, service } from 'gatehook'

const access = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})

const users = resource('users', {
  fields: {
    id: f.id(),
    name: f.string().min(1).max(200),
    email: f.email(),
    created_at: f.createdAt(),
  },
  list: { filter: ['id', 'created_at'], sort: ['id', 'created_at'] },
  access: access('users'),
  events: ['user.created', 'user.updated', 'user.deleted'],
})

const orders = resource('orders', {
  fields: {
    id: f.id(),
    user_id: f.ref('users'),
    amount: f.int().min(1),
    note: f.string().max(500).nullable().default(null),
    created_at: f.createdAt(),
  },
  list: {
    filter: ['user_id', 'user.name', 'user.created_at'],
    sort: ['id', 'user.name', 'user.email'],
  },
  access: access('orders'),
  events: ['order.created', 'order.updated', 'order.deleted'],
})

export const api = service({
  name: 'bench of relations',
  versions: { v1: { released: '2024-06-01' }, v2: { released: '2025-06-01' } },
  resources: [users, orders],
})
