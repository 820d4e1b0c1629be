/** §15.4: `find` returns the row with unique values, within the reach of its context. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: false,
    delete: `${name}:write`,
  }) as const
const members = resource('members', {
  fields: {
    id: f.id(),
    email: f.email().unique(),
    badge: f.string().nullable().default(null).unique(),
    club: f.string().default(''),
    joined_at: f.time(),
  },
  unique: [['club', 'joined_at']],
  list: { filter: [], sort: [] },
  access: access('members'),
  events: ['member.created'],
  softDelete: true,
}).rule('create', async ({ tx, after }) => {
  if (after.club === 'ask') seen.set('rule', (await tx.find(members, { email: EMAIL }))?.id)
})
const EMAIL = 'Ann@example.com'
const JOINED = Date.UTC(2026, 0, 2)
/** The id that each context has. */
const seen = new Map<string, unknown>()
const seek = job('seek')

const club = service({
  name: 'club',
  versions: { v1: { released: '2026-01-01' } },
  resources: [members],
})
  .route({
    method: 'GET',
    path: '/seek/:key',
    scope: 'members:read',
    summary: 'Find a member',
    output: { id: f.int().nullable() },
    async handle({ params, read }) {
      const values: Record<string, object> = {
        email: { email: EMAIL.toLowerCase() },
        tuple: { joined_at: JOINED, club: 'a' },
        null: { badge: null },
        club: { club: 'a' },
        none: {},
        impossible: { email: 'not an address' },
        empty: { email: '' },
        wrong: { email: 7 },
        unknown: { colour: 'red' },
      }
      return { body: { id: (await read.find(members, values[params.key]!))?.id ?? null } }
    },
  })
  .route({
    method: 'POST',
    path: '/seek',
    scope: 'members:read',
    summary: 'Find a member in a write',
    async handle({ read, write }) {
      await write(async (tx) => {
        seen.set('tx', (await tx.find(members, { email: EMAIL }))?.id)
        await tx.enqueue(seek, {})
      })
      seen.set('read', (await read.find(members, { email: EMAIL }))?.id)
    },
  })
  .job(seek, async ({ read, write }) => {
    seen.set('job read', (await read.find(members, { email: EMAIL }))?.id)
    await write(async (tx) => seen.set('job tx', (await tx.find(members, { email: EMAIL }))?.id))
  })
  .on(members, 'member.created', async ({ event, read }) => {
    if (event.data.object.club !== 'ask') return
    seen.set('on', (await read.find(members, { email: EMAIL }))?.id)
  })

const runDue = ({ app }: TestApp) => app.jobs.runDue()
const ann = { email: EMAIL, club: 'a', joined_at: new Date(JOINED).toISOString() }

eachService(
  'find returns the row of a unique field or tuple, and no other',
  async (app) => {
    const { id } = (await app.post('/api/v1/members', ann)).body
    const seekBy = async (key: string) => {
      const { status, body } = await app.get(`/api/v1/seek/${key}`)
      return status === 200 ? body.id : status
    }
    assert.deepEqual(
      [await seekBy('email'), await seekBy('tuple'), await seekBy('null')],
      [id, id, null],
    )
    for (const key of ['club', 'none', 'wrong', 'unknown'])
      assert.equal(await seekBy(key), 500, key)
    assert.deepEqual([await seekBy('impossible'), await seekBy('empty')], [null, null])
    await app.delete(`/api/v1/members/${id}`)
    assert.equal(await seekBy('email'), null, 'a deleted row')
  },
  { service: club },
)

eachService(
  'no context of own code finds a row of another customer or mode',
  async (app) => {
    await app.post('/api/v1/members', ann)
    const { administration } = app.app
    const actor = { kind: 'cli', id: 'root' } as const
    const other = await createCustomer(administration, { name: 'Other' }, actor)
    for (const key of [await app.key({ mode: 'live' }), await app.key({ customer: other.id })]) {
      seen.clear()
      const caller = app.as(key)
      assert.equal((await caller.get('/api/v1/seek/email')).body.id, null)
      await caller.post('/api/v1/seek')
      await caller.post('/api/v1/members', { ...ann, email: 'b@example.com', club: 'ask' })
      await runDue(app)
      const words = ['read', 'tx', 'job read', 'job tx', 'rule', 'on']
      assert.deepEqual([...seen.keys()].sort(), words.sort())
      for (const [word, id] of seen) assert.equal(id, undefined, word)
    }
  },
  { service: club },
)
