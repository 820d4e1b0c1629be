/** The service of row 21: the reference service, and resources of large rows or many words. */
import { f, resource, service } from 'gatehook'
import { orders } from '../../../packages/gatehook/service/resources/orders.ts'
import { users } from '../../../packages/gatehook/service/resources/users.ts'

const access = {
  read: 'large:read',
  create: 'large:write',
  update: 'large:write',
  delete: 'large:write',
} as const
const long = () => f.json().max(65_536).default({})
const text = () => f.ref('texts')

const folders = resource('folders', {
  fields: { id: f.id(), name: f.string().max(100) },
  list: { filter: [], sort: [] },
  access,
  events: ['folder.deleted'],
})
const texts = resource('texts', {
  fields: {
    id: f.id(),
    folder_id: f.ref('folders').onDelete('cascade'),
    a: long(),
    b: long(),
    c: long(),
  },
  list: { filter: [], sort: [] },
  access,
  batch: true,
  events: ['text.deleted'],
})
const links = resource('links', {
  fields: {
    ...{ id: f.id(), r0_id: text(), r1_id: text(), r2_id: text(), r3_id: text(), r4_id: text() },
    ...{ r5_id: text(), r6_id: text(), r7_id: text(), r8_id: text(), r9_id: text() },
  },
  list: { filter: [], sort: [] },
  access,
  batch: true,
  events: [],
})
const notes = resource('notes', {
  fields: { id: f.id(), body: f.string().max(8_000) },
  list: { filter: [], sort: [] },
  access,
  search: ['body'],
  batch: true,
  events: ['note.created'],
})

export const api = service({
  name: 'bench of large changes',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [users, orders, folders, texts, links, notes],
  externalEvents: ['payment.succeeded'],
})
