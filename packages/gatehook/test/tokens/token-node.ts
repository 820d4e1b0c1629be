/**
 * A small node for tests of tokens/: its routes, people and clients as plain data, and a manual
 * clock. Several on one database are several nodes.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { authenticate, authorize } from '../../src/identity/access/authenticate.ts'
import { addChallenges } from '../../src/identity/access/challenges.ts'
import { createAudiences } from '../../src/identity/access/protected-resources.ts'
import { protectedRoute } from '../../src/identity/access/routes.ts'
import type { TokenLifetimes } from '../../src/identity/tokens/access-token.ts'
import type {
  Grant,
  TokenClient,
  TokenCustomer,
  TokenPerson,
  Tokens,
} from '../../src/identity/tokens/api.ts'
import { ensureSigningKey } from '../../src/identity/tokens/signing-keys.ts'
import { createTokens } from '../../src/identity/tokens/tokens.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { type Principal, scopeOf } from '../../src/kernel/principal.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { PipelineSteps } from '../../src/protocol/http/exchange.ts'
import { createOriginResolver } from '../../src/protocol/http/proxy-trust.ts'
import { createServer } from '../../src/protocol/http/server.ts'
import { createLister } from '../../src/protocol/lists/list.ts'
import { bindRoutes } from '../../src/route-table.ts'
import { noBasic } from '../access/no-verifiers.ts'
import { ManualClock, random, trail } from '../access/test-node.ts'

export const ISSUER = 'https://api.example.test'
export const CUSTOMER = 'cus_default'
const DAY_MS = 86_400_000

export const SCOPE = scopeOf(1, 'test')

/** The default grant of the person 7 at login. */
export const login: Grant = {
  scope: SCOPE,
  customer: CUSTOMER,
  mode: 'test',
  clientId: 'gatehook',
  subject: '7',
  scopes: ['things:read', 'things:write'],
  claims: { name: 'Ada', role: 'admin' },
}

/** An application with all scopes of `login`. */
const application: TokenClient = {
  requireAuthOnRefresh: false,
  hasSecret: () => false,
  scopes: login.scopes,
}

/** The people, clients and customers of a node, by id. */
export interface TestData {
  readonly people: Map<string, Omit<TokenPerson, 'suspended'>>
  readonly clients: Map<string, TokenClient>
  readonly customers: Map<string, TokenCustomer>
}

export const createTestData = (): TestData => ({
  people: new Map([['7', { claims: { name: 'Ada', role: 'admin' }, scopes: login.scopes }]]),
  clients: new Map([['cli_1', application]]),
  customers: new Map([[CUSTOMER, { no: 1, suspended: false }]]),
})

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any path
  readonly body: any
  readonly headers: Record<string, unknown>
}

export interface RequestOptions {
  /** An access token. */
  readonly bearer?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export interface TokenNode {
  readonly tokens: Tokens & { tick(): Promise<void> }
  readonly vault: Vault
  readonly time: ManualClock
  readonly data: TestData
  readonly db: Database
  send(line: string, options?: RequestOptions): Promise<Reply>
  refresh(token: string): Promise<Reply>
  /** Returns whether the API accepts an access token. */
  isAccepted(jwt: string): Promise<boolean>
}

export interface TokenNodeOptions {
  readonly time?: ManualClock
  readonly data?: TestData
  readonly lifetimes?: Partial<TokenLifetimes>
  /** Called before each look-up of a customer. */
  readonly onCustomer?: () => void
  readonly issuer?: string
  readonly audience?: string
}

export const LIFETIMES: TokenLifetimes = {
  accessMs: 900_000,
  idleMs: 14 * DAY_MS,
  absoluteMs: 30 * DAY_MS,
  graceMs: 0,
}

export async function openTokenNode(
  db: Database,
  t: TestContext,
  options: TokenNodeOptions = {},
): Promise<TokenNode> {
  const time = options.time ?? new ManualClock()
  const data = options.data ?? createTestData()
  const vault = new Vault('a master secret of enough characters', random)
  const { clock } = time
  const issuer = options.issuer ?? ISSUER
  await ensureSigningKey(db, { vault, clock })
  const list = createLister({
    db,
    cursorKeys: vault.macKeys('cursor'),
    publicUrl: () => issuer,
    defaultStyle: 'cursor',
  })
  const tokens = createTokens({
    db,
    clock,
    random,
    trail,
    vault,
    log: quietLog,
    list,
    endGivenAccess: async () => 0,
    record: createRecorder({ clock, random, shape: 'v2', sinks: [] }),
    restoredMs: () => undefined,
    signOutEverywhere: (tx, id) => tokens.revokeSessionsOfPerson(tx, SCOPE, String(id)),
    lookup: {
      async findPerson(_, scope, subject) {
        const person = scope === SCOPE ? data.people.get(subject) : undefined
        return person && { ...person, suspended: data.customers.get(CUSTOMER)!.suspended }
      },
      findClient: async (id) => data.clients.get(id),
      async findClientPermissions(id) {
        const client = data.clients.get(id)
        return client && { scopes: client.scopes, firstParty: false, describesItself: false }
      },
      async findCustomer(id) {
        options.onCustomer?.()
        return data.customers.get(id)
      },
    },
    lifetimes: { ...LIFETIMES, ...options.lifetimes },
    issuer: () => issuer,
    audiences: createAudiences(() => issuer, options.audience ? [options.audience] : []),
  })
  const server = createTestServer(tokens, time, issuer)
  onEnd(t, () => server.close())
  onEnd(t, () => tokens.stop())
  const send: TokenNode['send'] = async (line, options = {}) => {
    const [method, url] = line.split(' ') as ['GET', string]
    const authorization = options.bearer === undefined ? undefined : `Bearer ${options.bearer}`
    const headers = { ...(authorization && { authorization }), ...options.headers }
    const body = options.body === undefined ? {} : { payload: options.body as object }
    const reply = await server.inject({ method, url, headers, ...body })
    const json = reply.body === '' ? undefined : JSON.parse(reply.body)
    return { status: reply.statusCode, body: json, headers: reply.headers }
  }
  return {
    tokens,
    vault,
    time,
    data,
    db,
    send,
    refresh: (token) => send('POST /auth/refresh', { body: { refresh_token: token } }),
    async isAccepted(jwt) {
      const { status, body } = await send('GET /api/protected', { bearer: jwt })
      if (status !== 200) assert.deepEqual([status, body.error], [401, 'invalid_token'])
      return status === 200
    },
  }
}

/** The principal of every API key. */
const key = (): Principal => ({
  customer: CUSTOMER,
  mode: 'test',
  scope: SCOPE,
  kind: 'key',
  subject: 'key_1',
  scopes: new Set(['admin']),
})

function createTestServer(tokens: Tokens, time: ManualClock, issuer: string) {
  const guard = authenticate({
    verifiers: {
      apikey: key,
      bearer: ({ value }, { path }) => tokens.verifyAccessToken(value, path),
      basic: noBasic,
    },
  })
  const guarded: PipelineSteps = {
    head: [guard, authorize],
    refused: [],
    out: [addChallenges(() => issuer)],
  }
  const open: PipelineSteps = { head: [], refused: [], out: [] }
  return createServer({
    endpoints: bindRoutes([...tokens.routes, protectedRoute]),
    pipeline: {
      probe: open,
      public: open,
      api: guarded,
      root: guarded,
      admin: guarded,
      portal: guarded,
      mcp: guarded,
      oauth: open,
      page: open,
      unknown: guarded,
    },
    log: quietLog,
    clock: time.clock,
    random,
    identifyAgain: ({ principal }) => principal,
    resolveOrigin: createOriginResolver(undefined),
    roots: new Set(['protected']),
  })
}

const countStatements = {
  gh_sessions: sql`SELECT COUNT(*) AS total FROM gh_sessions`,
  gh_revocations: sql`SELECT COUNT(*) AS total FROM gh_revocations`,
}

export const countRows = async (db: Database, table: keyof typeof countStatements) =>
  Number((await db.get(countStatements[table]))!.total)

/** Returns the database and the number of its reads outside of transactions. */
export function countReads(db: Database): { db: Database; reads: () => number } {
  let count = 0
  const proxy = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'get' || name === 'all' || name === 'arrays') count++
      return value.bind(target)
    },
  })
  return { db: proxy, reads: () => count }
}

/** Defines a test with two nodes on one PostgreSQL database, which share a clock and test data. */
export function eachNode(
  name: string,
  body: (nodes: readonly [TokenNode, TokenNode], t: TestContext) => Promise<void>,
  options: TokenNodeOptions = {},
): void {
  test(`${name} [postgres]`, async (t) => {
    const url = await freshUrl(t, 'postgres')
    const shared = { time: new ManualClock(), data: createTestData(), ...options }
    const dbs = [await openForTest(t, url), await openForTest(t, url)] as const
    await migrateEngine(dbs[0], { clock: wallClock })
    await body([await openTokenNode(dbs[0], t, shared), await openTokenNode(dbs[1], t, shared)], t)
  })
}
