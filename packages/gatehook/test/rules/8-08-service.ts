/**
 * A service of three versions for the tests of §8.8: a rename, a split, a change of type under
 * one name.
 */
import { f, resource, service } from '../../src/gatehook.ts'

export const people = resource('people', {
  fields: {
    id: f.id(),
    first: f.string().min(1).max(40),
    last: f.string().max(40),
    height_mm: f.int().min(1).max(3000),
    tier: f.oneOf(['basic', 'gold']).default('basic'),
    points: f.int().min(0).default(0),
    email: f.email().unique(),
    created_at: f.createdAt(),
  },
  list: {
    filter: ['first', 'height_mm', 'tier', 'points', 'email'],
    sort: ['height_mm', 'points', 'email'],
  },
  access: {
    read: 'people:read',
    create: 'people:write',
    update: 'people:write',
    delete: 'people:write',
  },
  events: ['person.created', 'person.updated', 'person.deleted'],
})
  .check((row) =>
    row.tier === 'gold' && row.points < 10 ? { tier: 'needs ten points' } : undefined,
  )
  .sample((n) => ({
    first: `First${n}`,
    last: n % 3 ? `Last${n}` : '',
    height_mm: 1500 + n,
    tier: n % 2 ? 'gold' : 'basic',
    points: 10 + n,
    email: `p${n}@example.com`,
  }))
  .before('v3', {
    why: 'Names are two fields, so that letters can be addressed.',
    had: { full_name: f.string().min(1).max(81) },
    hadNot: ['first', 'last'],
    up: ({ full_name }) => {
      const at = full_name.indexOf(' ', 1)
      const last = at < 0 ? '' : full_name.slice(at + 1)
      return { first: last === '' ? full_name : full_name.slice(0, at), last }
    },
    down: ({ first, last }) => ({ full_name: last === '' ? first : `${first} ${last}` }),
  })
  .before('v2', {
    why: 'Heights are whole millimetres; points are a number; mail is called e-mail.',
    had: { height_mm: f.string().max(8), gold: f.bool().default(false), mail: f.email() },
    hadNot: ['height_mm', 'tier', 'email'],
    up: (old) => ({
      height_mm: Math.round(Number(old.height_mm)),
      tier: old.gold ? 'gold' : 'basic',
      email: old.mail,
    }),
    down: (row) => ({
      height_mm: String(row.height_mm),
      gold: row.tier === 'gold',
      mail: row.email,
    }),
    renamed: { mail: 'email' },
  })

export const club = service({
  name: 'club',
  versions: {
    v1: { released: '2024-01-01' },
    v2: { released: '2025-01-01' },
    v3: { released: '2026-01-01' },
  },
  resources: [people],
})
