/** The service of row 26: users with a search and an export, and orders that refer to them. */
import { f, resource, service } from 'gatehook'

const access = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})

export const userOptions = {
  fields: {
    id: f.id(),
    name: f.string().min(1).max(200),
    email: f.email(),
    created_at: f.createdAt(),
  },
  list: { filter: ['id', 'created_at'], sort: ['id', 'created_at'] },
  access: access('users'),
  events: ['user.created', 'user.updated', 'user.deleted'],
} as const

export const orderOptions = {
  fields: {
    id: f.id(),
    user_id: f.ref('users'),
    amount: f.int().min(1),
    note: f.string().max(500).nullable().default(null),
    created_at: f.createdAt(),
  },
  access: access('orders'),
  events: ['order.created', 'order.updated', 'order.deleted'],
} as const

const users = resource('users', { ...userOptions, search: ['name'], export: true })

const orders = resource('orders', {
  ...orderOptions,
  list: { filter: ['user_id', 'amount'], sort: ['id', 'created_at'] },
  batch: true,
})

export const api = service({
  name: 'bench of collections',
  versions: { v1: { released: '2024-06-01' }, v2: { released: '2025-06-01' } },
  resources: [users, orders],
})
