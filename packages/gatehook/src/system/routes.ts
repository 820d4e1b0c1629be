/**
 * The routes `/`, `/healthz` and `/readyz`; of §13 the clock, the audit trail and the system.
 */
import { auditCollection, auditView } from '../audit/collection.ts'
import { actorOf } from '../audit/store.ts'
import type { AuditTrail } from '../audit/trail.ts'
import { type Call, json, type Route, route } from '../http/call.ts'
import { parameterFailure } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { isoTime } from '../kernel/time.ts'
import type { Lister } from '../lists/list.ts'
import type { Database } from '../storage/database.ts'
import type { ClockKeeper } from './clock.ts'
import { type HealthChecks, listUnreadyReasons } from './health.ts'

const NO_STORE = { 'cache-control': 'no-store' }

/** The requests that a load balancer sends to a node: all, or only those without writes. */
const PURPOSES = ['write', 'read'] as const

function purposeOf({ query }: Call): (typeof PURPOSES)[number] {
  const text = query.get('for') ?? 'write'
  const purpose = PURPOSES.find((name) => name === text)
  if (purpose) return purpose
  throw parameterFailure('invalid_parameter', 'for', `must be ${PURPOSES.join(' or ')}`)
}

interface ReadinessChecks {
  /** For a node that serves reads. */
  readonly read: HealthChecks
  /** For a node that also stores writes; includes the checks of reads. */
  readonly write: HealthChecks
}

/**
 * `/healthz` reports that the process runs, `/readyz` whether a load balancer should send requests.
 * `/readyz?for=read` reports whether it should send reads (§2.7).
 */
export const probeRoutes = (checks: ReadinessChecks, log: Log): Route[] => [
  {
    path: '/healthz',
    methods: { GET: { handle: () => json(200, { status: 'ok' }, NO_STORE) } },
  },
  {
    path: '/readyz',
    methods: {
      GET: {
        async handle(call) {
          const reasons = await listUnreadyReasons(checks[purposeOf(call)], log)
          const ready = reasons.length === 0
          return json(
            ready ? 200 : 503,
            { status: ready ? 'ready' : 'not_ready', reasons },
            NO_STORE,
          )
        },
      },
    },
  },
]

interface RootOptions {
  readonly name: string
  readonly versions: readonly string[]
  /** The collections of every version. */
  readonly collections: readonly string[]
  /** Links to pages by name: `{docs: '/docs'}`. */
  readonly links?: Readonly<Record<string, string>>
}

/** `/` links to all parts of the service. It has paths only, which are valid behind any proxy. */
export function rootRoute({ name, versions, collections, links }: RootOptions): Route {
  const perVersion = <T>(path: (version: string) => T) =>
    Object.fromEntries(versions.map((version) => [version, path(version)]))
  const body = {
    name,
    versions,
    links: {
      self: '/',
      api: perVersion((version) =>
        Object.fromEntries(collections.map((name) => [name, `/api/${version}/${name}`])),
      ),
      openapi: perVersion((version) => `/openapi/${version}.json`),
      healthz: '/healthz',
      readyz: '/readyz',
      metrics: '/metrics',
      ...links,
    },
  }
  const handle = () => json(200, body)
  return route('/', { GET: { handle } })
}

/** Lists the audit trail. It first appends pending rows to the chain. */
export const auditRoute = (list: Lister, trail: Pick<AuditTrail, 'appendForReader'>): Route => ({
  path: '/admin/audit',
  methods: {
    GET: {
      async handle(call) {
        await trail.appendForReader()
        return list(call, auditCollection, auditView)
      },
    },
  },
})

/** Exists only if the test clock is enabled; otherwise the path is 404. */
export const clockRoute = (keeper: ClockKeeper, perform: Perform): Route => ({
  path: '/admin/clock',
  methods: {
    GET: { handle: () => json(200, keeper.state(), NO_STORE) },
    POST: {
      body: 'required',
      handle: (call) =>
        perform(call, async (tx) =>
          json(200, await keeper.set(call.body, actorOf(call), tx), NO_STORE),
        ),
    },
  },
})

interface SystemOptions {
  readonly db: Pick<Database, 'name'>
  readonly clock: Clock
  readonly log: Log
  readonly checks: HealthChecks
  /** The release of Gatehook: `0.1.0`. */
  readonly release: string
  /** The version of Node: `process.version`. */
  readonly node: string
  /** `clock.elapsedMs()` at the start of the process. */
  readonly startedMs: number
  /** Every option with its source, without secrets (`config/describe.ts`). */
  readonly configuration: readonly unknown[]
  /** Counts of the modules by name: `{keys: () => countKeys(db)}`. */
  readonly figures: Readonly<Record<string, () => unknown>>
}

export function systemRoute(options: SystemOptions): Route {
  const { clock, db, release, node, configuration } = options
  const figures = async () => {
    const named = Object.entries(options.figures).map(async ([name, read]) => [name, await read()])
    return Object.fromEntries(await Promise.all(named)) as Record<string, unknown>
  }
  return {
    path: '/admin/system',
    methods: {
      GET: {
        async handle() {
          const reasons = await listUnreadyReasons(options.checks, options.log)
          const health = { status: reasons.length === 0 ? 'ready' : 'not_ready', reasons }
          const uptimeS = Math.floor((clock.elapsedMs() - options.startedMs) / 1000)
          const body = {
            health,
            release,
            node,
            now: isoTime(clock.now()),
            uptime_s: uptimeS,
            database: db.name,
            ...(await figures()),
            configuration,
          }
          return json(200, body, NO_STORE)
        },
      },
    },
  }
}
