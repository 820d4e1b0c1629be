/**
 * §9.1: wherever types of events are named, an unknown name is a mistake of the caller: 400 for a
 * parameter, 422 for a member of a body, exit 2 of a command. Without it, the result would be empty
 * for ever.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { gatehook, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

interface EntryPoint {
  /** The request with the names in it. */
  readonly send: (callers: Callers, names: string) => Promise<{ status: number; body: unknown }>
  readonly status: 400 | 422
  /** The forms of names besides a single type. */
  readonly accepts: readonly ('pattern' | 'list')[]
}

interface Callers extends Pick<Caller, 'get' | 'post' | 'patch'> {
  readonly admin: Caller
  /** A registration of the caller. */
  readonly id: string
  readonly url: string
}

const parameter =
  (path: string): EntryPoint['send'] =>
  (callers, names) =>
    (path.startsWith('/admin') ? callers.admin : callers).get(
      path.replace('ID', callers.id).concat(encodeURIComponent(names)),
    )

const ENTRY_POINTS: Readonly<Record<string, EntryPoint>> = {
  'GET /events?type=': { send: parameter('/events?type='), status: 400, accepts: [] },
  'GET /events?type[ne]=': { send: parameter('/events?type[ne]='), status: 400, accepts: [] },
  'GET /events?type[in]=': { send: parameter('/events?type[in]='), status: 400, accepts: ['list'] },
  'GET /events/stream?types=': {
    send: parameter('/events/stream?types='),
    status: 400,
    accepts: ['pattern', 'list'],
  },
  'GET /webhooks/{id}/deliveries?event_type=': {
    send: parameter('/webhooks/ID/deliveries?event_type='),
    status: 400,
    accepts: [],
  },
  'GET /admin/events?type=': {
    send: parameter('/admin/events?type='),
    status: 400,
    accepts: ['pattern', 'list'],
  },
  'GET /admin/webhooks?event=': {
    send: parameter('/admin/webhooks?event='),
    status: 400,
    accepts: [],
  },
  'GET /admin/deliveries?event_type=': {
    send: parameter('/admin/deliveries?webhook=ID&event_type='),
    status: 400,
    accepts: [],
  },
  'POST /webhooks events': {
    send: ({ post, url }, name) => register({ post }, { url }, { events: [name] }),
    status: 422,
    accepts: ['pattern'],
  },
  'PATCH /webhooks/{id} events': {
    send: ({ patch, id }, name) => patch(`/webhooks/${id}`, { events: [name] }),
    status: 422,
    accepts: ['pattern'],
  },
  'POST /webhooks/{id}/test event_type': {
    send: ({ post, id }, name) => post(`/webhooks/${id}/test`, { event_type: name }),
    status: 422,
    accepts: [],
  },
  'POST /webhooks/{id}/replay event_types': {
    send: ({ post, id }, name) =>
      post(`/webhooks/${id}/replay`, { since: '2020-01-01T00:00:00Z', event_types: [name] }),
    status: 422,
    accepts: ['pattern'],
  },
  'POST /events type': {
    send: ({ post }, type) => post('/events', { type, object: { id: 1 } }),
    status: 422,
    accepts: [],
  },
}

const UNKNOWN = ['order.creatd', 'order', 'ORDER.PAID', 'order.paid ', 'webhook.ping', '', 'a\n']
const UNKNOWN_PATTERNS = ['orde.*', 'order*', 'order.paid.*', '*.paid', '**', '.*']

async function openCallers(service: TestApp, hookUrl: string): Promise<Callers> {
  const { as, key } = service
  const own = as(await key({}))
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const { body } = await register(own, { url: hookUrl })
  return { get: own.get, post: own.post, patch: own.patch, admin, id: body.id, url: hookUrl }
}

for (const [entryPoint, { send, status, accepts }] of Object.entries(ENTRY_POINTS)) {
  eachService(
    `${entryPoint} rejects an unknown type`,
    async (service, t) => {
      const callers = await openCallers(service, (await openHook(t)).url)
      const lists = accepts.includes('list') ? ['order.paid,order.creatd', 'order.paid,'] : []
      for (const unknown of [...UNKNOWN, ...UNKNOWN_PATTERNS, ...lists]) {
        const answer = await send(callers, unknown)
        assert.equal(answer.status, status, unknown)
      }
      if (entryPoint.includes('stream')) return // a stream does not end
      const valid = entryPoint.includes('POST /events') ? 'payment.succeeded' : 'order.paid'
      const patterns = accepts.includes('pattern') ? ['order.*', 'key.created', '*'] : []
      const validLists = accepts.includes('list') ? ['order.paid,key.created'] : []
      for (const name of [valid, ...patterns, ...validLists]) {
        const answer = await send(callers, name)
        const isRunning = answer.status === 409 // a replay of the registration
        assert.ok(answer.status < 300 || isRunning, `${name}: ${JSON.stringify(answer.body)}`)
      }
    },
    LOCAL,
  )
}

/** The commands that take names of types; the last argument is the name. */
const COMMANDS: readonly (readonly string[])[] = [
  ['listen', '--events'],
  ['listen', '--events', 'order.paid', '--events'],
  ['trigger'],
  ['events', 'list', '--type'],
  ['webhooks', 'create', 'https://shop.example.com/', '--events'],
  ['webhooks', 'create', 'https://shop.example.com/', '--events', 'order.paid', '--events'],
  ['webhooks', 'test', 'wh_0VkqHc5d8hTn2WbYx3aRkQ', '--type'],
  ['webhooks', 'replay', 'wh_0VkqHc5d8hTn2WbYx3aRkQ', '--since', '1h', '--events'],
]

test('commands that name an unknown type are exit 2', async (t) => {
  const place: Place = { cwd: emptyFolder(t) }
  const { url } = await serving(t, place, '--no-seed')
  const { port } = new URL(url)
  for (const command of COMMANDS) {
    const node = command[0] === 'listen' ? ['--port', port] : []
    const { exit, stdout, stderr } = await gatehook(place, ...command, 'order.creatd', ...node)
    assert.equal(exit, 2, `${command.join(' ')}: ${stderr}`)
    assert.equal(stdout, '', command.join(' '))
    assert.match(stderr, /order\.creatd|type of event|must be /, command.join(' '))
  }
})
