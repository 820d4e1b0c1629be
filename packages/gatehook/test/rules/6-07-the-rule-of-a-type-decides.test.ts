/**
 * §6.7, §9.14: whether a person reads the events of a type follows from the rule of its rows, also
 * where types and resources with other rules have scopes of the same name; and from the declaration
 * of today, also for a registration that was created under another one.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  type Caller,
  eachService,
  openService,
  type TestApp,
} from '../../../../test/rig/service.ts'
import { event, f, fields, resource, service } from '../../src/gatehook.ts'
import { listen } from '../events/listen.ts'
import { bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'
import { openPortal } from '../portal/rig.ts'
import { finishedLog, type Hook, LOCAL, openHook, register, replayed } from '../webhooks/hook.ts'

/** The read scope of resources and events with different rules. */
const SHARED = 'rows:read'
const rows = (read: string, persons?: 'read') => ({
  ...{ read, create: 'rows:write', update: 'rows:write', delete: 'rows:write' },
  ...(persons && { persons }),
})
const list = { filter: ['id'], sort: ['id'] } as const

const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique() },
  list,
  access: rows(SHARED),
  events: ['person.created'],
}).signsIn({ username: 'email' })

const notes = resource('notes', {
  fields: { id: f.id(), person_id: f.ref('people').owner(), text: f.string() },
  list,
  access: rows(SHARED),
  events: ['note.created'],
})
const lines = resource('lines', {
  fields: { id: f.id(), note_id: f.ref('notes'), text: f.string() },
  list,
  access: rows(SHARED),
  events: ['line.created'],
}).ownedBy('note_id')
const drafts = resource('drafts', {
  fields: { id: f.id(), person_id: f.ref('people').owner(), text: f.string() },
  list,
  access: rows('events:read'),
  events: ['draft.created'],
})
const shelves = resource('shelves', {
  fields: { id: f.id(), text: f.string() },
  list,
  access: rows(SHARED),
  events: ['shelf.created'],
})
const news = resource('news', {
  fields: { id: f.id(), text: f.string() },
  list,
  access: rows(SHARED, 'read'),
  events: ['news.created'],
})
/** Its read scope extends the reach of persons in another resource. */
const boards = resource('boards', {
  fields: { id: f.id(), text: f.string() },
  list,
  access: rows('drafts:all', 'read'),
  events: ['board.created'],
})
const stockEvent = event('stock.counted', fields({ count: f.int() }), { scope: SHARED })

const every = service({
  name: 'Rules',
  versions: { v1: { released: '2026-06-01' } },
  resources: [people, notes, lines, drafts, shelves, news, boards],
  externalEvents: ['payment.made', { type: 'payment.seen', scope: SHARED }, { event: stockEvent }],
})

const READER = ['events:read', 'webhooks:read', 'webhooks:write']
const EXTERNAL = ['payment.made', 'payment.seen', 'stock.counted']

/** The collection, and the type of the event of a new row. */
const TYPES = {
  ...{ notes: 'note.created', lines: 'line.created', drafts: 'draft.created' },
  ...{ shelves: 'shelf.created', news: 'news.created', boards: 'board.created' },
} as const

type Sent = Readonly<Record<string, string>>

/** Returns a caller with headers of its own, and the headers. */
function withHeaders({ send }: Caller, sent: Sent) {
  return {
    sent,
    get: (path: string) => send('GET', path, undefined, sent),
    post: (path: string, body?: unknown) => send('POST', path, body, sent),
  }
}

async function personOf(app: TestApp, name: string, scopes: readonly string[]) {
  const { operator, anonymous, token } = await openPeople(app)
  const body = { email: emailOf(name), password: PASSWORD, mode: 'test', scopes }
  const { status, text, body: row } = await operator.post('/admin/users', body)
  assert.equal(status, 201, text)
  const sent = bearerOf(await token(emailOf(name)))
  return { id: row.id as number, ...withHeaders(anonymous, sent) }
}

/** Creates a row of bob in each collection, and an event of each other type. */
async function createAll(app: TestApp, personId: number) {
  const text = 'of bob'
  const post = async (path: string, body: object) => {
    const reply = await app.post(path, body)
    assert.ok(reply.status < 300, `${path} ${reply.text}`)
    return reply.body.id as number
  }
  const noteId = await post('/api/v1/notes', { person_id: personId, text })
  await post('/api/v1/lines', { note_id: noteId, text })
  await post('/api/v1/drafts', { person_id: personId, text })
  for (const open of ['shelves', 'news', 'boards']) await post(`/api/v1/${open}`, { text })
  for (const type of EXTERNAL) {
    const object = type === 'stock.counted' ? { count: 1 } : { id: 1 }
    await post('/events', { type, object })
  }
}

const inOrder = (types: Iterable<string>) =>
  [...new Set(types)].filter((type) => [...Object.values(TYPES), ...EXTERNAL].includes(type)).sort()
const typesOf = (reply: { body: { data: { type: string }[] } }) =>
  inOrder(reply.body.data.map(({ type }) => type))
const deliveredTypes = (log: readonly { event_type: string }[]) =>
  inOrder(log.map(({ event_type }) => event_type))

/** Returns the types that each way to read events gives a caller, by the name of the way. */
async function readEveryWay(
  app: TestApp,
  t: TestContext,
  caller: ReturnType<typeof withHeaders>,
  { hook, url }: { readonly hook: Hook; readonly url: string },
): Promise<Record<string, readonly string[]>> {
  const ways: Record<string, readonly string[]> = {}
  const all = (await app.get('/events?limit=100')).body.data as { id: string; type: string }[]
  ways.list = typesOf(await caller.get('/events?limit=100'))
  const single: string[] = []
  for (const { id, type } of all) {
    if ((await caller.get(`/events/${id}`)).status === 200) single.push(type)
  }
  ways.single = inOrder(single)
  const stream = await listen(t, url, undefined, { headers: caller.sent, after: all[0]!.id })
  assert.equal(stream.status, 200, stream.status === 200 ? '' : await stream.text())
  const streamed: string[] = []
  // The last event of `createAll` is one that each caller reads.
  for (let last = ''; last !== EXTERNAL.at(-1); ) {
    last = (await stream.next())!.event.type
    streamed.push(last)
  }
  ways.stream = inOrder(streamed)
  stream.close()
  // Registrations: by a name, by a pattern, and the log of one that a key created.
  const exact: string[] = []
  for (const type of [...Object.values(TYPES), ...EXTERNAL]) {
    const { status, body } = await caller.post('/webhooks', { url: hook.url, events: [type] })
    if (status !== 201) continue
    exact.push(type)
    await app.delete(`/webhooks/${body.id}`)
  }
  ways.exact = inOrder(exact)
  return ways
}

eachService(
  'each way to read events gives a caller the types whose rows it reads',
  async (app, t) => {
    const hook = await openHook(t)
    // Tokens name the address of the server.
    const { url } = await app.app.listen()
    const bob = await personOf(app, 'bob', [SHARED])
    const key = async (scopes: readonly string[]) => ({
      ...withHeaders(app.as(undefined), { 'x-api-key': await app.key({ scopes }) }),
    })
    const callers = {
      plain: await personOf(app, 'ada', [...READER, SHARED]),
      ofNotes: await personOf(app, 'eve', [...READER, SHARED, 'notes:all']),
      ofDrafts: await personOf(app, 'joe', [...READER, SHARED, 'drafts:all']),
      key: await key([...READER, SHARED]),
      keyOfBoards: await key(['webhooks:read', 'webhooks:write', SHARED, 'drafts:all']),
    }
    const registrationIds: Record<string, string> = {}
    for (const [name, { post }] of Object.entries(callers)) {
      const reply = await register({ post }, hook)
      assert.equal(reply.status, 201, reply.text)
      registrationIds[name] = reply.body.id
    }
    const { id: all } = (await register(app, hook)).body
    await app.post('/events', { type: 'payment.made', object: { id: 0 } })
    await createAll(app, bob.id)
    for (const [name, caller] of Object.entries(callers)) {
      const expected: string[] = []
      for (const [collection, type] of Object.entries(TYPES)) {
        const reply = await caller.get(`/api/v1/${collection}`)
        if (reply.status === 200 && reply.body.data.length === 1) expected.push(type)
      }
      const readsEvents = (await caller.get('/events')).status === 200
      expected.push(...EXTERNAL.filter((type) => readsEvents || type !== 'payment.made'))
      const delivered = (await app.get(`/webhooks/${registrationIds[name]}/deliveries?limit=100`))
        .body.data
      const logged = (await caller.get(`/webhooks/${all}/deliveries?limit=100`)).body.data
      const ways = {
        delivered: deliveredTypes(delivered),
        logged: deliveredTypes(logged),
        ...(readsEvents && (await readEveryWay(app, t, caller, { hook, url }))),
      }
      for (const [way, types] of Object.entries(ways)) {
        assert.deepEqual(types, inOrder(expected), `${name}: ${way}`)
      }
      await app.delete(`/webhooks/${registrationIds[name]}`)
    }
    const portal = await openPortal(app)
    const credentials = { username: emailOf('ada'), password: PASSWORD }
    const session = portal.withCookieOf(await portal.anonymous.post('/portal/session', credentials))
    const inPortal = await session.get('/portal/api/events?limit=100')
    assert.deepEqual(typesOf(inPortal), inOrder(['news.created', ...EXTERNAL]))
  },
  { ...LOCAL, service: every },
)

/** A service whose notes are open to persons, until a later declaration. */
function noted(later: 'open' | 'owned' | 'closed') {
  const person = f.ref('people')
  return service({
    name: 'Notes',
    versions: { v1: { released: '2026-06-01' } },
    resources: [
      people,
      resource('notes', {
        fields: {
          id: f.id(),
          person_id: later === 'owned' ? person.owner() : person,
          text: f.string(),
        },
        list,
        access: rows('notes:read', later === 'open' ? 'read' : undefined),
        events: ['note.created'],
      }),
    ],
    externalEvents: [{ type: 'payment.seen', scope: 'notes:read' }],
  })
}

for (const later of ['owned', 'closed'] as const) {
  eachService(
    `a person’s registration receives nothing of a resource that is ${later} today`,
    async (before, t) => {
      const hook = await openHook(t)
      const ada = await personOf(before, 'ada', [...READER, 'notes:read'])
      const note = { person_id: ada.id, text: 'x' }
      const { id } = (await register(ada, hook)).body
      await before.post('/api/v1/notes', note)
      await before.app.work()
      await finishedLog(before, id)
      await before.patch(`/webhooks/${id}`, { active: false })
      // This delivery waits for the next declaration.
      await before.post('/api/v1/notes', note)
      const key = await before.key()
      await before.app.close()
      const options = { ...LOCAL, service: noted(later), url: before.url, key }
      const after = await openService(t, before.app.db.name, options)
      await after.post('/api/v1/notes', note)
      await after.patch(`/webhooks/${id}`, { active: true })
      await after.post('/events', { type: 'payment.seen', object: { id: 1 } })
      await after.app.work()
      const log = await finishedLog(after, id)
      assert.deepEqual(
        log.map(({ event_type, state, attempts }) => [event_type, state, attempts.length]),
        [
          ['note.created', 'delivered', 1],
          ['note.created', 'failed', 0],
          ['payment.seen', 'delivered', 1],
        ],
      )
      await after.post(`/webhooks/${id}/replay`, { since: '2020-01-01' })
      await after.app.work()
      assert.equal((await replayed(after, id)).replay.done, 1)
      const resent = await after.post(`/deliveries/${log[0].id}/resend`)
      assert.deepEqual([resent.status, resent.body.error], [409, 'invalid_state'])
      await after.app.work()
      await finishedLog(after, id)
      const received = hook.calls
        .map((call) => call.event.type)
        .filter((type) => type !== 'webhook.ping')
      assert.deepEqual(received, ['note.created', 'payment.seen', 'payment.seen'])
    },
    { ...LOCAL, service: noted('open') },
  )
}
