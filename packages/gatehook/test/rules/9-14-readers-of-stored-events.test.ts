/**
 * §9.14: every reader of a stored event, and every delivery of it, has the members that the
 * declaration of today shows, also if an earlier release recorded it.
 */
import assert from 'node:assert/strict'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { event, f, fields, resource, type Service, service } from '../../src/gatehook.ts'
import { finishedLog, type Hook, LOCAL, openHook, register, replayed } from '../webhooks/hook.ts'

const PAY = '424242'
const released = { released: '2026-06-01' }
const later = { released: '2026-09-01' }
const options = {
  list: { filter: [], sort: [] },
  events: ['note.created'],
  access: {
    read: 'notes:read',
    ...({ create: 'all:write', update: 'all:write', delete: 'all:write' } as const),
  },
} as const

/** A name in v2 was a title in v1. */
const notes = (pay: object = {}) =>
  resource('notes', { fields: { id: f.id(), name: f.string(), ...pay }, ...options })
const renamed = (pay: object = {}) =>
  notes(pay).before('v2', {
    ...({ had: { title: f.string() }, hadNot: ['name'], renamed: { title: 'name' } } as const),
    why: 'A note has a name.',
    up: ({ title }: { title: string }) => ({ name: title }),
    down: ({ name }: { name: string }) => ({ title: name }),
  } as never)
const titled = (pay: object) =>
  resource('notes', { fields: { id: f.id(), title: f.string(), ...pay }, ...options })

const report = (more: object = {}) => event('note.reported', fields({ name: f.string(), ...more }))
const both = { v1: released, v2: later }
const declare = (
  resources: readonly unknown[],
  { versions = both as object, more = {} as object, changes = [] as string[] } = {},
): Service =>
  service({
    ...({ name: 'Notes', versions, resources } as never as Parameters<typeof service>[0]),
    migrations: changes.map((change, at) => ({
      ...{ number: at + 1, name: `change ${at + 1}`, table: 'notes' },
      sql: `ALTER TABLE notes ${change}`,
    })),
    externalEvents: [{ event: report(more), scope: 'notes:read' }],
  })

const DROPPED = 'DROP COLUMN pay'
const RENAMED = 'RENAME COLUMN name TO title'
const pay = f.int().default(0)
const earlier = declare([renamed({ pay })], { more: { pay: f.int() } })
const hidden = { pay: f.int().default(0).visible('pay:read') }
/** The later releases, and whether the objects of rows still have their names. */
const RELEASES: Readonly<Record<string, { service: Service; keepsName: boolean }>> = {
  'that is visible to a scope': { service: declare([renamed(hidden)]), keepsName: true },
  'that is write-only': {
    service: declare([renamed({ pay: f.int().default(0).writeOnly() })]),
    keepsName: true,
  },
  'that is removed': {
    service: declare([renamed()], { changes: [DROPPED] }),
    keepsName: true,
  },
  'that is hidden, once the oldest version is withdrawn': {
    service: declare([notes(hidden)], { versions: { v2: later } }),
    keepsName: true,
  },
  'that is hidden, once the newest version is withdrawn': {
    service: declare([titled(hidden)], { versions: { v1: released }, changes: [RENAMED] }),
    keepsName: false,
  },
  'that is removed, once the newest version is withdrawn': {
    service: declare([titled({})], { versions: { v1: released }, changes: [RENAMED, DROPPED] }),
    keepsName: false,
  },
}
const NARROW = ['notes:read', 'events:read', 'webhooks:read', 'webhooks:write']
const IS_NOTE = /^note\./

/** Returns the bodies that a receiver got of the service's events. */
const received = ({ calls }: Hook) => {
  const bodies = calls.filter(({ event }) => IS_NOTE.test(event.type)).map(({ body }) => body)
  calls.length = 0
  return bodies
}

/** Returns the responses of the readers of one event and its delivery, by path. */
async function readAll(app: TestApp, versions: readonly string[], id: string, delivery: string) {
  const paths = [
    ...['/events?limit=100', `/events/${id}`, `/deliveries/${delivery}/request`],
    ...['/admin/events?limit=100', '/admin/events?customer=default&limit=100'],
    ...[`/admin/events/${id}`, `/admin/deliveries/${delivery}`, `/deliveries/${delivery}`],
    ...versions.map((version) => `/admin/events/${id}/payload?version=${version}`),
  ]
  const replies = await Promise.all(paths.map((path) => app.get(path)))
  return replies.map((reply, at) => ({ path: paths[at]!, ...reply }))
}

for (const [name, release] of Object.entries(RELEASES)) {
  eachService(
    `no reader and no delivery of an earlier event has a field ${name}`,
    async (before, t) => {
      const admin = await before.key({ mode: 'live', scopes: ['admin'] })
      const narrow = await before.key({ mode: 'live', scopes: NARROW })
      const { post, patch } = before.as(admin)
      const [sent, v1, v2] = [await openHook(t), await openHook(t), await openHook(t)]
      const registrations: string[] = []
      for (const [hook, api_version] of [
        [sent, 'v1'],
        [v1, 'v1'],
        [v2, 'v2'],
      ] as const) {
        const { body, text } = await register(before.as(admin), hook, {
          ...{ api_version, events: ['note.*'] },
        })
        assert.ok(body.id, text)
        registrations.push(body.id)
      }
      const waiting = registrations.slice(1)
      for (const id of waiting) await patch(`/webhooks/${id}`, { active: false })
      await before.app.work()
      const row = await post('/api/v2/notes', { name: 'Ada', pay: Number(PAY) })
      assert.equal(row.status, 201, row.text)
      const object = { name: 'Ada', pay: Number(PAY) }
      const external = await post('/events', { type: 'note.reported', object })
      assert.equal(external.status, 201, external.text)
      const [log] = [await finishedLog(before.as(admin), registrations[0]!)]
      assert.equal(log.length, 2)
      assert.ok(received(sent).every((body) => body.includes(PAY)))
      await before.app.close()

      const after = await openService(t, before.app.db.name, {
        ...{ service: release.service, url: before.url, key: admin, env: LOCAL.env },
      })
      const versions = release.service.definition.versions.map((version) => version.name)
      const isNamed = (body: string, type: string) =>
        type === 'note.created' && !release.keepsName ? true : body.includes('Ada')
      for (const delivery of log as { id: string; event_id: string; event_type: string }[]) {
        const { id, event_id, event_type } = delivery
        for (const { path, status, text } of await readAll(after, versions, event_id, id)) {
          assert.equal(status, 200, `${path} ${text}`)
          assert.ok(!text.includes(PAY), `${path} ${text}`)
          const hasObject = !path.startsWith('/deliveries/') || path.endsWith('/request')
          const isObject = hasObject && !path.startsWith('/admin/deliveries')
          if (isObject) assert.ok(isNamed(text, event_type), `${path} ${text}`)
        }
      }
      const assertReceived = (hook: Hook, way: string) => {
        const bodies = received(hook)
        assert.equal(bodies.length, 2, way)
        for (const body of bodies) {
          assert.ok(!body.includes(PAY), `${way} ${body}`)
          assert.ok(isNamed(body, JSON.parse(body).type), `${way} ${body}`)
        }
      }
      for (const id of waiting) await after.patch(`/webhooks/${id}`, { active: true })
      await after.app.work()
      for (const id of waiting) await finishedLog(after, id)
      for (const hook of [v1, v2]) assertReceived(hook, 'a waiting delivery')
      for (const { id } of log) await after.post(`/deliveries/${id}/resend`)
      await finishedLog(after, registrations[0]!)
      assertReceived(sent, 'a resend')
      const since = new Date(Date.now() - 3_600_000).toISOString()
      const replay = async (key: string, id: string) => {
        const reply = await after.as(key).post(`/webhooks/${id}/replay`, { since })
        assert.equal(reply.status, 202, reply.text)
        await replayed(after.as(key), id)
        await finishedLog(after.as(key), id)
      }
      await replay(admin, registrations[1]!)
      assertReceived(v1, 'a replay')
      for (const api_version of versions) {
        const hook = await openHook(t)
        const more = { api_version, events: ['note.*'] }
        const { body, text } = await register(after.as(narrow), hook, more)
        assert.ok(body.id, text)
        await replay(narrow, body.id)
        assertReceived(hook, `a replay to a new receiver in ${api_version}`)
      }
    },
    { service: earlier, ...LOCAL },
  )
}
