/**
 * A small Gatehook for tests of this room: tokens behind their routes, people and clients by hand,
 * and a time that only moves when told. Several on one database are several nodes.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { authenticate, authorize } from '../../src/access/authenticate.ts'
import { protectedRoute } from '../../src/access/routes.ts'
import { createRecorder } from '../../src/events/store.ts'
import type { Steps } from '../../src/http/exchange.ts'
import { createFront } from '../../src/http/front.ts'
import { createServer } from '../../src/http/server.ts'
import { type Principal, scopeOf } from '../../src/kernel/principal.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { createLister } from '../../src/lists/list.ts'
import { bindRoutes } from '../../src/route-table.ts'
import type { Database } from '../../src/storage/database.ts'
import { sql } from '../../src/storage/sql.ts'
import type { TokenLifetimes } from '../../src/tokens/access-token.ts'
import type {
  Grant,
  TokenClient,
  TokenCustomer,
  TokenPerson,
  Tokens,
} from '../../src/tokens/api.ts'
import { ensureSigningKey } from '../../src/tokens/signing-keys.ts'
import { createTokens } from '../../src/tokens/tokens.ts'
import { noBasic } from '../access/no-verifiers.ts'
import { ManualClock, random, trail } from '../access/test-node.ts'

export const ISSUER = 'https://api.example.test'
export const CUSTOMER = 'cus_default'
const DAY_MS = 86_400_000

export const SCOPE = scopeOf(1, 'test')

/** What the person 7 is granted at login unless a test says otherwise. */
export const login: Grant = {
  scope: SCOPE,
  customer: CUSTOMER,
  mode: 'test',
  clientId: 'gatehook',
  subject: '7',
  scopes: ['things:read', 'things:write'],
  claims: { name: 'Ada', role: 'admin' },
}

export interface World {
  readonly people: Map<string, Omit<TokenPerson, 'suspended'>>
  readonly clients: Map<string, TokenClient>
  readonly customers: Map<string, TokenCustomer>
}

export const world = (): World => ({
  people: new Map([['7', { claims: { name: 'Ada', role: 'admin' }, scopes: login.scopes }]]),
  clients: new Map(),
  customers: new Map([[CUSTOMER, { no: 1, suspended: false }]]),
})

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers of every path
  readonly body: any
  readonly headers: Record<string, unknown>
}

export interface Asked {
  /** An access token. */
  readonly bearer?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export interface Desk {
  readonly tokens: Tokens & { tick(): Promise<void> }
  readonly vault: Vault
  readonly time: ManualClock
  readonly world: World
  readonly db: Database
  ask(line: string, asked?: Asked): Promise<Reply>
  refresh(token: string): Promise<Reply>
  /** Whether an access token opens a door. */
  works(jwt: string): Promise<boolean>
}

export interface DeskOptions {
  readonly time?: ManualClock
  readonly world?: World
  readonly lives?: Partial<TokenLifetimes>
  /** Called in front of the look-up of a customer. */
  readonly onCustomer?: () => void
  readonly issuer?: string
  readonly audience?: string
}

export const LIVES: TokenLifetimes = {
  accessMs: 900_000,
  idleMs: 14 * DAY_MS,
  absoluteMs: 30 * DAY_MS,
  graceMs: 0,
}

export async function openDesk(
  db: Database,
  t: TestContext,
  options: DeskOptions = {},
): Promise<Desk> {
  const time = options.time ?? new ManualClock()
  const facts = options.world ?? world()
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
    record: createRecorder({ clock, random, shape: 'v2', sinks: [] }),
    lookup: {
      async findPerson(_, scope, subject) {
        const person = scope === SCOPE ? facts.people.get(subject) : undefined
        return person && { ...person, suspended: facts.customers.get(CUSTOMER)!.suspended }
      },
      findClient: async (id) => facts.clients.get(id),
      async findClientPermissions(id) {
        const client = facts.clients.get(id)
        return client && { scopes: client.scopes, firstParty: false }
      },
      async findCustomer(id) {
        options.onCustomer?.()
        return facts.customers.get(id)
      },
    },
    lifetimes: { ...LIVES, ...options.lives },
    issuer: () => issuer,
    audience: () => options.audience ?? issuer,
  })
  const server = serverOf(tokens, time, issuer)
  t.after(() => server.close())
  t.after(() => tokens.stop())
  const ask: Desk['ask'] = async (line, asked = {}) => {
    const [method, url] = line.split(' ') as ['GET', string]
    const authorization = asked.bearer === undefined ? undefined : `Bearer ${asked.bearer}`
    const headers = { ...(authorization && { authorization }), ...asked.headers }
    const body = asked.body === undefined ? {} : { payload: asked.body as object }
    const reply = await server.inject({ method, url, headers, ...body })
    const shown = reply.body === '' ? undefined : JSON.parse(reply.body)
    return { status: reply.statusCode, body: shown, headers: reply.headers }
  }
  return {
    tokens,
    vault,
    time,
    world: facts,
    db,
    ask,
    refresh: (token) => ask('POST /auth/refresh', { body: { refresh_token: token } }),
    async works(jwt) {
      const { status, body } = await ask('GET /api/protected', { bearer: jwt })
      if (status !== 200) assert.deepEqual([status, body.error], [401, 'invalid_token'])
      return status === 200
    },
  }
}

/** A key of its own: this desk's person may be asked for by any other way. */
const key = (): Principal => ({
  customer: CUSTOMER,
  mode: 'test',
  scope: SCOPE,
  kind: 'key',
  subject: 'key_1',
  scopes: new Set(['admin']),
})

function serverOf(tokens: Tokens, time: ManualClock, issuer: string) {
  const guard = authenticate({
    verifiers: {
      apikey: key,
      bearer: ({ value }) => tokens.verifyAccessToken(value),
      basic: noBasic,
    },
    publicUrl: () => issuer,
  })
  const guarded: Steps = { head: [guard, authorize], body: [], out: [] }
  const open: Steps = { head: [], body: [], out: [] }
  return createServer({
    endpoints: bindRoutes([...tokens.routes, protectedRoute]),
    pipeline: {
      probe: open,
      public: open,
      api: guarded,
      root: guarded,
      admin: guarded,
      oauth: open,
      page: open,
      unknown: guarded,
    },
    log: quietLog,
    clock: time.clock,
    random,
    front: createFront(undefined),
    roots: new Set(['protected']),
  })
}

const counting = {
  gh_sessions: sql`SELECT COUNT(*) AS total FROM gh_sessions`,
  gh_revocations: sql`SELECT COUNT(*) AS total FROM gh_revocations`,
}

export const countOf = async (db: Database, table: keyof typeof counting) =>
  Number((await db.get(counting[table]))!.total)

/** The same database; `reads` counts what is asked of it outside transactions. */
export function watched(db: Database): { db: Database; reads: () => number } {
  let count = 0
  const watching = new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'get' || name === 'all' || name === 'arrays') count++
      return value.bind(target)
    },
  })
  return { db: watching, reads: () => count }
}
