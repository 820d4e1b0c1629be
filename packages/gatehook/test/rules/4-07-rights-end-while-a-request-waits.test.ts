/**
 * §3.10, §4.7: no request uses rights that ended while it waited for its turn: of a password hash,
 * of SQLite's writer, of a connection. The test lets time pass when the request begins to wait.
 * `test/documentation/document-examples.test.ts` finds the writes of a caller that verify nothing.
 */
import assert from 'node:assert/strict'
import { type Caller, eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink } from '../../src/identity/people/operators.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { PASSWORD } from '../people/rig.ts'

const clock = {
  aheadMs: 0,
  now: () => Date.now() + clock.aheadMs,
  waitedMs: 0,
  elapsedMs: () => performance.now() + clock.waitedMs,
}
const options = { clock }
const HOUR_MS = 3_600_000

const person = (name: string) => ({ name, email: `${name}@example.com`, password: PASSWORD })

/** A caller, and its rows. */
interface Shop extends Caller {
  readonly order: { readonly user_id: number; readonly amount: number }
  readonly ordered: number
}
type Send = (shop: Shop) => Promise<Reply>

const create =
  (headers?: Record<string, string>): Send =>
  ({ post, order }) =>
    post('/api/v2/orders', order, headers)

/** Changes by their kind of transaction, with the status of a caller that has its rights. */
const CHANGES: Readonly<Record<string, readonly [status: number, Send]>> = {
  'a new row': [201, create()],
  'a row with a key': [201, create({ 'idempotency-key': 'k-1' })],
  'a dry run': [201, create({ prefer: 'dry-run' })],
  'an action': [200, ({ post, ordered }) => post(`/api/v2/orders/${ordered}/cancel`, {})],
  'a person': [201, ({ post }) => post('/admin/users', person('bo'))],
  'a password': [
    204,
    ({ put, order }) => put(`/admin/users/${order.user_id}/password`, { password: PASSWORD }),
  ],
  'an operator': [
    201,
    ({ post }) => post('/admin/operators', { email: 'op@example.com', password: PASSWORD }),
  ],
  'a version': [200, ({ put }) => put('/admin/versions/v1', { sunset_at: null })],
}

const COUNTED = ['orders', 'gh_people', 'gh_operators', 'gh_idempotency', 'gh_audit']

async function counts({ app: { db } }: TestApp): Promise<unknown[]> {
  const rows = []
  for (const table of COUNTED) {
    const text = `SELECT count(*) AS n FROM ${table}`
    rows.push(Number((await db.get<{ n: number }>({ sql: text, text, values: [] }))!.n))
  }
  return rows
}

/** Calls `wait` when the next write of a caller begins to wait. */
function atNextTurn({ app: { db, administration } }: TestApp, wait: () => void): void {
  const { write } = db
  const waiting: typeof write = (change, of) => {
    if (of?.authority) {
      for (const writer of [db, administration]) Object.assign(writer, { write })
      wait()
    }
    return write(change, of)
  }
  for (const writer of [db, administration]) Object.assign(writer, { write: waiting })
}

/** Creates a key that expires after an hour. */
const expiringKey = ({ key }: TestApp, scopes: readonly string[]) =>
  key({ scopes, mode: 'live', expires_at: new Date(clock.now() + HOUR_MS).toISOString() })

eachService(
  'a change that waited needs the rights that its caller has at its turn',
  async (service) => {
    const scopes = ['admin', 'users:write', 'orders:read', 'orders:write']
    const admin = service.as(await service.key({ scopes, mode: 'live' }))
    const user_id = (await admin.post('/admin/users', person('ada'))).body.id as number
    const order = { user_id, amount: 700 }
    const ordered = (await admin.post('/api/v2/orders', order)).body.id as number
    const openShop = async () => {
      const caller = service.as(await expiringKey(service, scopes))
      // Stores when the key was used.
      assert.equal((await caller.get(`/api/v2/orders/${ordered}`)).status, 200)
      return { ...caller, order, ordered }
    }
    for (const [kind, [status, send]] of Object.entries(CHANGES)) {
      const caller = await openShop()
      const before = await counts(service)
      atNextTurn(service, () => {
        clock.aheadMs += 2 * HOUR_MS
        clock.waitedMs += 2_000
      })
      const refused = await send(caller)
      assert.equal(refused.status, 401, `${kind}: ${refused.text}`)
      assert.match(refused.body.message, /^Since the request began, the credential is no longer/)
      assert.deepEqual(await counts(service), before, `${kind} leaves nothing`)
      const valid = await openShop()
      atNextTurn(service, () => {
        clock.waitedMs += 2_000
      })
      const { status: validStatus, text } = await send(valid)
      assert.equal(validStatus, status, `${kind}: ${text}`)
    }
  },
  options,
)

eachService(
  'a session of the console that ends in the queue of passwords creates no operator',
  async (service) => {
    const { administration } = service.app
    const actor = { kind: 'system', id: 'test' } as const
    const anonymous = service.as(undefined)
    for (const waitedMs of [0, 2_000]) {
      const { path } = await createConsoleLink(administration, undefined, actor)
      const opened = await anonymous.post('/console/session', { token: path.split('=')[1] })
      const cookie = String([opened.headers['set-cookie']].flat()[0]).split(';')[0]!
      atNextTurn(service, () => {
        clock.aheadMs += HOUR_MS
        clock.waitedMs += waitedMs
      })
      const body = { email: 'op@example.com', password: PASSWORD }
      const headers = { cookie, 'x-gatehook-console': '1' }
      const reply = await anonymous.post('/console/session/operator', body, headers)
      assert.equal(reply.status, 401, reply.text)
    }
    const operators = await service.app.db.all(sql`SELECT id FROM gh_operators`)
    assert.deepEqual(operators, [])
  },
  options,
)

eachService(
  'a list that waited for its turn is not sent to a caller that has lost the right',
  async (service) => {
    const { db } = service.app
    const { snapshot } = db
    for (const [status, aheadMs] of [
      [200, 0],
      [401, 2 * HOUR_MS],
    ] as const) {
      const caller = service.as(await expiringKey(service, ['orders:read']))
      db.snapshot = (read, of) => {
        clock.aheadMs += aheadMs
        clock.waitedMs += 2_000
        db.snapshot = snapshot
        return snapshot(read, of)
      }
      const reply = await caller.get('/api/v2/orders?page=1')
      assert.equal(reply.status, status, reply.text)
    }
  },
  options,
)
