/** The service of row 17: users as in the reference service, with two older versions. */
import { f, resource, service } from 'gatehook'

const users = resource('users', {
  fields: {
    id: f.id(),
    name: f.string().min(1).max(200),
    email: f.email().unique(),
    created_at: f.createdAt(),
  },
  list: {
    filter: ['id', 'name', 'email', 'created_at'],
    sort: ['id', 'name', 'email', 'created_at'],
  },
  access: {
    read: 'users:read',
    create: 'users:write',
    update: 'users:write',
    delete: 'users:write',
  },
  events: ['user.created', 'user.updated', 'user.deleted'],
})
  .before('v3', {
    why: 'Persons have one name.',
    had: { first: f.string().max(200), last: f.string().max(200) },
    hadNot: ['name'],
    up: ({ first, last }) => ({ name: last === '' ? first : `${first} ${last}` }),
    down: ({ name }) => {
      const at = name.indexOf(' ')
      return at < 0
        ? { first: name, last: '' }
        : { first: name.slice(0, at), last: name.slice(at + 1) }
    },
  })
  .before('v2', {
    why: '`mail` is `email`; clients count the letters of a name.',
    had: { mail: f.email(), letters: f.int().readonly() },
    hadNot: ['email'],
    up: ({ mail }) => ({ email: mail }),
    down: ({ email, first, last }) => ({ mail: email, letters: first.length + last.length }),
    renamed: { mail: 'email' },
  })

export const api = service({
  name: 'bench of versions',
  versions: {
    v1: { released: '2024-06-01' },
    v2: { released: '2025-06-01' },
    v3: { released: '2026-06-01' },
  },
  resources: [users],
})
