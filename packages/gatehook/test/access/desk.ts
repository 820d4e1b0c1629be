/**
 * A small Gatehook for tests of this room: routes, authentication, lists, and a time set by hand.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import type { Administration } from '../../src/access/administration.ts'
import { authenticate, authorize } from '../../src/access/authenticate.ts'
import { performFirstRun } from '../../src/access/first-run.ts'
import { createKeyVerifier, type KeyVerifier } from '../../src/access/key-verifier.ts'
import { customerRoutes, keyRoutes, protectedRoute } from '../../src/access/routes.ts'
import { chainKey } from '../../src/audit/chain.ts'
import { signerWith } from '../../src/audit/trail.ts'
import type { Endpoint } from '../../src/http/call.ts'
import type { Steps } from '../../src/http/exchange.ts'
import { createFront } from '../../src/http/front.ts'
import { createServer } from '../../src/http/server.ts'
import { createPerform } from '../../src/idempotency/perform.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { SettableClock, wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { createLister } from '../../src/lists/list.ts'
import { bindRoutes } from '../../src/route-table.ts'
import type { Database } from '../../src/storage/database.ts'
import { clockKeeper } from '../../src/system/clock.ts'
import { auditRoute, clockRoute } from '../../src/system/routes.ts'
import { noBasic, noBearer } from './nobody.ts'

export const random = systemRandom()

/** Time that only moves when told: `nowMs` is the date, `elapsedMs` what has passed. */
export class HandClock {
  nowMs = Date.UTC(2026, 10, 21)
  realMs = 0
  readonly clock = new SettableClock({ now: () => this.nowMs, elapsedMs: () => this.realMs })

  pass(ms: number): void {
    this.nowMs += ms
    this.realMs += ms
  }
}

/** Tags audit rows; the chain is tested with a whole app. */
export const trail = signerWith(chainKey(Buffer.alloc(32)))

export const administration = (db: Database, time: HandClock): Administration => ({
  db,
  write: db.write,
  random,
  trail,
  clock: time.clock,
  scopes: new Set(['admin', 'things:read', 'things:write', 'events:read']),
  versions: ['v1', 'v2'],
  changed: () => undefined,
})

/** The same database; `lookUps` counts single-row reads, as a verification makes one of. */
export function counting(db: Database): { db: Database; lookUps: () => number } {
  let count = 0
  const counted = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'get') count++
      return value.bind(target)
    },
  })
  return { db: counted, lookUps: () => count }
}

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers of every path
  readonly body: any
  readonly headers: Record<string, unknown>
}

export interface Asked {
  readonly key?: string | undefined
  readonly headers?: Record<string, string | string[]>
  readonly body?: unknown
  readonly from?: string
}

export type Ask = (line: string, asked?: Asked) => Promise<Reply>

export interface Desk {
  readonly admin: Administration
  readonly verifier: KeyVerifier
  readonly time: HandClock
  /** The operator's key. */
  readonly operator: string
  /** `ask('POST /admin/keys', {body})`, as the operator unless another key is named. */
  readonly ask: Ask
  /** Makes a key and gives it; fails the test when it was refused. */
  readonly make: (body: Record<string, unknown>) => Promise<{ id: string; key: string }>
}

/** Opens a node on `db`; several on one database are several nodes. */
export async function openDesk(
  db: Database,
  t: TestContext,
  more: { time?: HandClock; operator?: string } = {},
): Promise<Desk> {
  const time = more.time ?? new HandClock()
  const verifier = createKeyVerifier({ db, clock: time.clock, log: quietLog })
  const admin = { ...administration(db, time), changed: verifier.forget }
  const operator = more.operator ?? generateApiKey(random, 'live')
  await performFirstRun(admin, { bootstrapKey: operator })
  const server = serverOf(db, admin, verifier, time)
  t.after(() => server.close())

  const ask: Ask = async (line, asked = {}) => {
    const [method, url] = line.split(' ') as ['GET', string]
    const key = 'key' in asked ? asked.key : operator
    const headers = { ...asked.headers, ...(key === undefined ? {} : { 'x-api-key': key }) }
    const body = asked.body === undefined ? {} : { payload: asked.body as object }
    const from = asked.from === undefined ? {} : { remoteAddress: asked.from }
    const reply = await server.inject({ method, url, headers, ...body, ...from })
    await verifier.idle()
    const shown = reply.body === '' ? undefined : JSON.parse(reply.body)
    return { status: reply.statusCode, body: shown, headers: reply.headers }
  }
  const make: Desk['make'] = async (body) => {
    const reply = await ask('POST /admin/keys', { body: { name: 'k', scopes: [], ...body } })
    assert.equal(reply.status, 201, JSON.stringify(reply.body))
    return reply.body
  }
  return { admin, verifier, time, operator, ask, make }
}

function serverOf(db: Database, admin: Administration, verifier: KeyVerifier, time: HandClock) {
  const vault = new Vault('a master secret of enough characters', random)
  const publicUrl = () => 'https://api.example.test'
  const list = createLister({
    db,
    cursorKeys: vault.macKeys('cursor'),
    publicUrl,
    defaultStyle: 'cursor',
  })
  const apikey = ({ value }: { value: string }, { address }: { address: string }) =>
    verifier.verify(value, address)
  const verifiers = { apikey, bearer: noBearer, basic: noBasic }
  const guard = authenticate({ verifiers, publicUrl, onUse: verifier.recordUse })
  const guarded: Steps = { head: [guard, authorize], body: [], out: [] }
  const things: Endpoint = {
    kind: 'root',
    path: '/things',
    methods: { GET: { scope: 'things:read', handle: () => ({ status: 204 }) } },
  }
  const keeper = clockKeeper({ db, clock: time.clock, random, trail })
  const perform = createPerform({ db, clock: time.clock, vault })
  return createServer({
    endpoints: [
      ...bindRoutes([
        ...customerRoutes(admin, { list, perform }),
        ...keyRoutes(admin, { list, perform }),
        protectedRoute,
        auditRoute(list, { appendForReader: async () => undefined }),
        clockRoute(keeper, perform),
      ]),
      things,
    ],
    pipeline: {
      probe: guarded,
      public: guarded,
      api: guarded,
      root: guarded,
      admin: guarded,
      oauth: guarded,
      page: guarded,
      unknown: guarded,
    },
    log: quietLog,
    clock: wallClock,
    random,
    front: createFront(undefined),
    roots: new Set(['protected']),
  })
}
