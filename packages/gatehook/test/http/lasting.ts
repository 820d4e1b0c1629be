/** Responses that last as long as their callers like, and callers that lose their right to them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Reply, TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { createLog } from '../../src/kernel/log.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { cookieOf, openPortal } from '../portal/rig.ts'

const PASSWORD = 'correct horse battery'
const people = resource('people', {
  fields: { id: f.id(), name: f.string(), email: f.email().unique() },
  list: { filter: [], sort: [] },
  access: { read: 'people:read', create: 'people:write', update: false, delete: false },
  events: [],
}).signsIn({ username: 'email', scopes: ['notes:read'] })
const notes = resource('notes', {
  fields: {
    id: f.id(),
    person_id: f.ref('people').nullable().owner(),
    text: f.string().max(60_000),
    salary: f.int().default(1).visible('salaries:read'),
  },
  list: { filter: [], sort: [] },
  access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
  events: [],
  export: true,
})

export const desk = service({
  name: 'desk',
  versions: { v1: { released: '2025-01-01' } },
  resources: [people, notes],
}).route({
  method: 'GET',
  path: '/ticks',
  scope: 'notes:read',
  summary: 'Streams a part, and waits for the next one for ever',
  output: { media: 'text/plain' },
  handle: () => ({
    body: (async function* () {
      yield 'tick\n'
      await new Promise(() => {})
    })(),
  }),
})

/** Returns a log, and why it says that streams were ended. */
export function openLines() {
  const reasons = new Map<string, string>()
  const waiting = new Map<string, (reason: string) => void>()
  const destination = {
    write(text: string) {
      for (const line of text.split('\n').filter(Boolean)) {
        const { msg, request_id: id, reason } = JSON.parse(line)
        if (msg !== 'a stream was ended') continue
        reasons.set(id, reason)
        waiting.get(id)?.(reason)
      }
    },
  }
  return {
    log: createLog({ level: 'info', destination }),
    reasons,
    /** Returns the reason for which the stream of a request was ended. */
    reasonOf: async (id: string) =>
      reasons.get(id) ?? new Promise<string>((resolve) => waiting.set(id, resolve)),
  }
}

type Headers = Readonly<Record<string, string>>

/** Begins a response, and reads nothing of it before `read`. */
export async function begin(
  t: TestContext,
  base: string,
  { path, accept, ending }: Lasting,
  headers: Headers,
) {
  const sent = request(base + path, { headers: { ...headers, accept }, agent: false })
  onEnd(t, () => sent.destroy())
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { statusCode, headers: received } = response
  const read = async (): Promise<'whole' | 'cut'> => {
    try {
      for await (const _ of response);
      return 'whole'
    } catch {
      return 'cut'
    }
  }
  if (statusCode !== 200) {
    let text = ''
    for await (const part of response) text += part
    assert.equal(statusCode, 200, `${path}: ${text}`)
  }
  return { path, ending, id: String(received['x-request-id']), read }
}

export type Begun = Awaited<ReturnType<typeof begin>>

export const EXPORT = { path: '/api/v1/notes', accept: 'application/x-ndjson', ending: 'cut' }
export const TICKS = { path: '/api/v1/ticks', accept: 'text/plain', ending: 'cut' }
export const EVENTS = { path: '/events/stream', accept: 'text/event-stream', ending: 'whole' }
const LIVE = { path: '/admin/stream', accept: 'text/event-stream', ending: 'whole' }
const AUDIT = { path: '/admin/audit/stream', accept: 'text/event-stream', ending: 'whole' }
type Lasting = typeof EXPORT
const OF_KEYS = [EXPORT, TICKS, EVENTS]
const OF_ADMINISTRATORS = [LIVE, AUDIT]

export interface Caller {
  readonly customer: string
  readonly headers: Headers
  readonly responses: readonly Lasting[]
  readonly lose: () => Promise<unknown>
}

const SCOPES = ['notes:read', 'notes:all', 'events:read', 'salaries:read']
const without = (scope: string) => SCOPES.filter((name) => name !== scope)

/** Creates callers, each with a customer of its own. */
async function openMakers(app: TestApp) {
  const { operator: admin, anonymous } = await openPortal(app)
  const done = async (pending: Promise<Reply>) => {
    const { status, text, body } = await pending
    assert.ok(status < 300, `${status} ${text}`)
    return body
  }
  const customer = async (name: string): Promise<string> =>
    (await done(admin.post('/admin/customers', { name }))).id
  const key = async (name: string, more: Record<string, unknown> = {}) => {
    const body = { name, mode: 'live', scopes: SCOPES, customer: await customer(name), ...more }
    const { id, key, customer: of } = await done(admin.post('/admin/keys', body))
    const headers: Headers = { 'x-api-key': key }
    return { path: `/admin/keys/${id}`, customer: of as string, headers, responses: OF_KEYS }
  }
  const person = async (name: string) => {
    const of = await customer(name)
    const sign = { email: `${name}@example.com`, password: PASSWORD }
    const body = { name, ...sign, customer: of, mode: 'live', scopes: SCOPES }
    const { id } = await done(admin.post('/admin/users', body))
    const login = { username: sign.email, password: PASSWORD }
    const { access_token } = await done(anonymous.post('/auth/login', login))
    const headers: Headers = { authorization: `Bearer ${access_token}` }
    return { path: `/admin/users/${id}`, customer: of, headers, responses: OF_KEYS }
  }
  const operator = async (name: string) => {
    const { administration, hasher } = app.app
    const actor = { kind: 'cli', id: 'test' } as const
    const email = `${name}@example.com`
    const { id } = await createOperator(
      administration,
      hasher,
      { email, password: PASSWORD },
      actor,
    )
    const { path } = await createConsoleLink(administration, email, actor)
    const reply = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
    assert.equal(reply.status, 201, reply.text)
    const headers: Headers = { cookie: cookieOf(reply), 'x-gatehook-console': '1' }
    const of = await customer(name)
    const acting = { ...EXPORT, path: `/admin/as/${of}/live/api/v1/notes` }
    const responses = [...OF_ADMINISTRATORS, acting]
    return { path: `/admin/operators/${id}`, email, customer: of, headers, responses }
  }
  const portal = async (name: string) => {
    const of = await customer(name)
    const body = { customer: of, mode: 'live', can: ['events:read'] }
    const link = await done(admin.post('/admin/portal-links', body))
    const token = link.url.split('#token=')[1]
    const reply = await anonymous.post('/portal/session', { token })
    assert.equal(reply.status, 201, reply.text)
    const headers: Headers = { cookie: cookieOf(reply), 'x-gatehook-portal': '1' }
    const responses = [{ ...EVENTS, path: '/portal/api/events/stream' }]
    return { path: `/admin/portal-links/${link.id}`, customer: of, headers, responses }
  }
  return { admin, anonymous, done, key, person, operator, portal }
}

/** Opens callers by the way in which they lose their right. */
export async function openCallers(app: TestApp): Promise<ReadonlyMap<string, Caller>> {
  const { admin, anonymous, done, key, person, operator, portal } = await openMakers(app)
  const callers = new Map<string, Caller>()
  type Made = Omit<Caller, 'lose'> & { readonly path: string }
  const add = (way: string, caller: Made, lose: (path: string) => Promise<Reply>) =>
    callers.set(way, { ...caller, lose: () => done(lose(caller.path)) })
  const remove = (path: string) => admin.delete(path)
  const patch = (body: unknown) => (path: string) => admin.patch(path, body)
  add('a revoked key', await key('revoked'), remove)
  for (const scope of ['notes:read', 'notes:all', 'salaries:read']) {
    add(`a key without ${scope}`, await key(scope), patch({ scopes: without(scope) }))
  }
  const suspended = await key('suspended')
  add('a suspended customer', suspended, () =>
    admin.patch(`/admin/customers/${suspended.customer}`, { suspended: true }),
  )
  const administrator = await key('administrator', { scopes: ['admin'], customer: 'default' })
  add('a revoked administrator', { ...administrator, responses: OF_ADMINISTRATORS }, remove)
  add('a disabled person', await person('disabled'), patch({ disabled: true }))
  add('a narrowed person', await person('narrowed'), patch({ scopes: without('notes:all') }))
  const left = await person('left')
  add('an ended session', left, () => anonymous.post('/auth/logout', {}, left.headers))
  add('a disabled operator', await operator('leaving'), patch({ disabled: true }))
  add('an operator of a lesser role', await operator('lesser'), patch({ role: 'viewer' }))
  add('a revoked link', await portal('linked'), remove)
  return callers
}

/** Inserts rows of 12 MiB, which no buffer on the way holds. */
export async function fill({ app: { db } }: TestApp, customers: readonly string[]) {
  const text = 'x'.repeat(60_000)
  for (const customer of customers) {
    await db.write(async (tx) => {
      await tx.run(sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO notes (scope, text, salary)
        SELECT c.no * 2 + 1, CAST(${text} AS TEXT), 1 FROM n
        JOIN gh_customers c ON c.id = ${customer}`)
    })
  }
}
