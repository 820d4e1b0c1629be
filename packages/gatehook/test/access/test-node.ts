/** A small node for tests of access/: routes, authentication, lists, and a manual clock. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { createChainKey } from '../../src/history/audit/chain.ts'
import { createSigner } from '../../src/history/audit/trail.ts'
import type { Administration } from '../../src/identity/access/administration.ts'
import { authenticate, authorize } from '../../src/identity/access/authenticate.ts'
import { addChallenges } from '../../src/identity/access/challenges.ts'
import { performFirstRun } from '../../src/identity/access/first-run.ts'
import {
  createKeyVerifier,
  type KeyUse,
  type KeyVerifier,
} from '../../src/identity/access/key-verifier.ts'
import { accessRoutes, protectedRoute } from '../../src/identity/access/routes.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { SettableClock, wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { auditRoute } from '../../src/operate/system/audit-routes.ts'
import { clockKeeper } from '../../src/operate/system/clock.ts'
import { clockRoutes } from '../../src/operate/system/routes.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import type { Endpoint } from '../../src/protocol/http/call.ts'
import type { PipelineSteps } from '../../src/protocol/http/exchange.ts'
import { createOriginResolver } from '../../src/protocol/http/proxy-trust.ts'
import { createServer } from '../../src/protocol/http/server.ts'
import { createPerform } from '../../src/protocol/idempotency/perform.ts'
import { createLister } from '../../src/protocol/lists/list.ts'
import { bindRoutes } from '../../src/route-table.ts'
import { noBasic, noBearer } from './no-verifiers.ts'

export const random = systemRandom()

/** A clock that only the test advances: `nowMs` is the date, `realMs` the elapsed time. */
export class ManualClock {
  nowMs = Date.UTC(2026, 10, 21)
  realMs = 0
  readonly clock = new SettableClock({ now: () => this.nowMs, elapsedMs: () => this.realMs })

  pass(ms: number): void {
    this.nowMs += ms
    this.realMs += ms
  }
}

/** Tags audit rows without a chain; tests of whole apps cover the chain. */
export const trail = createSigner(createChainKey(Buffer.alloc(32)), 'test')

export const administration = (db: Database, time: ManualClock): Administration => ({
  db,
  write: db.write,
  random,
  trail,
  clock: time.clock,
  changes: new Map(),
  scopes: new Set(['admin', 'things:read', 'things:write', 'events:read']),
  versions: ['v1', 'v2'],
  onChange: () => undefined,
})

/** Returns the database and the number of its single-row reads; a verification needs one. */
export function countLookups(db: Database): { db: Database; lookups: () => number } {
  let count = 0
  const proxy = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'get') count++
      return value.bind(target)
    },
  })
  return { db: proxy, lookups: () => count }
}

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any path
  readonly body: any
  readonly headers: Record<string, unknown>
}

export interface RequestOptions {
  readonly key?: string | undefined
  readonly headers?: Record<string, string | string[]>
  readonly body?: unknown
  readonly from?: string
}

export type SendRequest = (line: string, options?: RequestOptions) => Promise<Reply>

export interface TestNode {
  readonly admin: Administration
  readonly verifier: KeyVerifier
  readonly time: ManualClock
  /** The operator's key. */
  readonly operator: string
  /** `send('POST /admin/keys', {body})` uses the operator's key unless `key` is set. */
  readonly send: SendRequest
  /** Creates a key; the test fails if the request is rejected. */
  readonly createKey: (body: Record<string, unknown>) => Promise<{ id: string; key: string }>
}

/** Opens a node on `db`; several on one database are several nodes. */
export async function openTestNode(
  db: Database,
  t: TestContext,
  options: { time?: ManualClock; operator?: string } = {},
): Promise<TestNode> {
  const time = options.time ?? new ManualClock()
  const verifier = createKeyVerifier({ db, clock: time.clock, log: quietLog })
  const admin = { ...administration(db, time), onChange: verifier.evict }
  const operator = options.operator ?? generateApiKey(random, 'live')
  await performFirstRun(admin, { bootstrapKey: operator })
  const server = createTestServer(db, admin, verifier, time)
  onEnd(t, () => server.close())

  const send: SendRequest = async (line, options = {}) => {
    const [method, url] = line.split(' ') as ['GET', string]
    const key = 'key' in options ? options.key : operator
    const headers = { ...options.headers, ...(key === undefined ? {} : { 'x-api-key': key }) }
    const body = options.body === undefined ? {} : { payload: options.body as object }
    const from = options.from === undefined ? {} : { remoteAddress: options.from }
    const reply = await server.inject({ method, url, headers, ...body, ...from })
    await verifier.idle()
    const json = reply.body === '' ? undefined : JSON.parse(reply.body)
    return { status: reply.statusCode, body: json, headers: reply.headers }
  }
  const createKey: TestNode['createKey'] = async (body) => {
    const reply = await send('POST /admin/keys', { body: { name: 'k', scopes: [], ...body } })
    assert.equal(reply.status, 201, JSON.stringify(reply.body))
    return reply.body
  }
  return { admin, verifier, time, operator, send, createKey }
}

function createTestServer(
  db: Database,
  admin: Administration,
  verifier: KeyVerifier,
  time: ManualClock,
) {
  const vault = new Vault('a master secret of enough characters', random)
  const publicUrl = () => 'https://api.example.test'
  const list = createLister({
    db,
    cursorKeys: vault.macKeys('cursor'),
    publicUrl,
    defaultStyle: 'cursor',
  })
  const apikey = ({ value }: { value: string }, call: KeyUse) => verifier.verify(value, call)
  const verifiers = { apikey, bearer: noBearer, basic: noBasic }
  const authenticateStep = authenticate({ verifiers, onUse: verifier.recordUse })
  const steps: PipelineSteps = {
    head: [authenticateStep, authorize],
    refused: [],
    out: [addChallenges(publicUrl)],
  }
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
        ...accessRoutes(admin, { list, perform, readRefusals: async () => undefined }),
        protectedRoute,
        auditRoute(list, { appendForReader: async () => undefined }),
        ...clockRoutes(keeper, perform, async () => undefined),
      ]),
      things,
    ],
    pipeline: {
      probe: steps,
      public: steps,
      api: steps,
      root: steps,
      admin: steps,
      portal: steps,
      mcp: steps,
      oauth: steps,
      page: steps,
      unknown: steps,
    },
    log: quietLog,
    clock: wallClock,
    random,
    identifyAgain: ({ principal }) => principal,
    resolveOrigin: createOriginResolver(undefined),
    roots: new Set(['protected']),
  })
}
