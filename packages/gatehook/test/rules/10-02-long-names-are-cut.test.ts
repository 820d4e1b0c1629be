/** §10.2, §11.5: a long name of a body is cut in pointers and messages: a response stays small. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'p:read', create: 'p:write', update: 'p:write', delete: false } as const
const people = resource('people', {
  fields: {
    id: f.id(),
    email: f.email().unique(),
    size: f.object({ width: f.int() }).nullable().default(null),
    marks: f.metadata(),
  },
  list: { filter: [], sort: ['email'] },
  access,
  events: [],
}).signsIn({ username: 'email', signUp: {} })
const versions = { v1: { released: '2026-01-01' } }
const options = { service: service({ name: 'n', versions, resources: [people] }) }

const LONG = `~${'a'.repeat(100_000)}`
const SHORT = `~0${'a'.repeat(199)}…`
const email = 'ann@example.com'
const bodies: readonly (readonly [path: string, body: string, pointer: string])[] = [
  ['/api/v1/people', JSON.stringify({ email, [LONG]: 1 }), `/${SHORT}`],
  ['/api/v1/people', JSON.stringify({ email, size: { [LONG]: 1 } }), `/size/${SHORT}`],
  ['/api/v1/people', JSON.stringify({ email, marks: { [LONG]: 'x' } }), `/marks/${SHORT}`],
  ['/api/v1/people', `{"${LONG}":1,"${LONG}":1}`, `/${SHORT}`],
  ['/api/v1/people', `{"${LONG}":{"a":1e999}}`, `/${SHORT}/a`],
  ['/webhooks', JSON.stringify({ [LONG]: 1 }), `/${SHORT}`],
  ['/auth/login', JSON.stringify({ [LONG]: 1 }), `/${SHORT}`],
  ['/api/v1/people', JSON.stringify({ email, ['/'.repeat(100_000)]: 1 }), `/${'~1'.repeat(200)}…`],
  ['/auth/signup', JSON.stringify({ email, [LONG]: 1 }), `/${SHORT}`],
]

eachService(
  'the answer to a long name is small',
  async (app) => {
    const { send } = app
    for (const [path, body, pointer] of bodies) {
      const { status, body: answer, text } = await send('POST', path, body)
      assert.ok(status === 400 || status === 422, `${path}: ${status} ${text.slice(0, 300)}`)
      const pointers = answer.errors.map((error: { pointer: string }) => error.pointer)
      assert.ok(pointers.includes(pointer), `${path}: ${String(pointers).slice(0, 300)}`)
      assert.ok(text.length < 2_000, `${path}: ${text.length}`)
    }
  },
  options,
)
