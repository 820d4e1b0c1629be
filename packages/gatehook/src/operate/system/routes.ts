/**
 * The routes `/`, `/healthz` and `/readyz`; of §13 the clock and the system.
 */
import { actorOf } from '../../history/audit/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { shareRuns } from '../../kernel/shared-runs.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { ClockKeeper } from './clock.ts'
import {
  type HealthChecks,
  listUnreadyReasons,
  reasonForCallers,
  reasonForOperators,
  type UnreadyReason,
  withoutRepetition,
} from './health.ts'
import {
  type ConfigurationReport,
  clockOperations,
  probeOperations as operations,
  type SystemFigures,
  systemOperations,
} from './operations.ts'
import type { Readiness } from './readiness.ts'

const NO_STORE = { 'cache-control': 'no-store' }

/** Anyone may send probes: the checks use a tenth of the time, and a probe waits this long. */
const CHECK_REST = { times: 9, maxMs: 500 }

interface ProbeRouteOptions {
  readonly readiness: Pick<Readiness, 'assess'>
  /** Faults that the node tolerates. */
  readonly tolerated: HealthChecks
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

/**
 * `/healthz` reports that the process runs, `/readyz` whether a load balancer should send requests.
 * `/readyz?for=read` reports whether it should send reads (§2.7).
 */
export function probeRoutes({ readiness, tolerated, clock, log }: ProbeRouteOptions): Route[] {
  const runsOf = (purpose: 'read' | 'write') => {
    const run = async () => {
      const reasons = await readiness.assess(purpose)
      // Some of them are those that the checks have found.
      const warnings = await listUnreadyReasons(tolerated, log)
      return healthOf(reasons, warnings, reasonForCallers)
    }
    // A check may take 2 s: a prober beside another one waits for one run, not for two.
    return shareRuns(run, { clock, ...CHECK_REST, joins: true })
  }
  const runs = { read: runsOf('read'), write: runsOf('write') }
  return [
    implement(operations.liveness, () => respond(operations.liveness, { status: 'ok' }, NO_STORE)),
    implement(operations.readiness, async (_call, _, { for: purpose = 'write' }) => {
      const body = await runs[purpose]()
      const answer = respond(operations.readiness, body, NO_STORE)
      return body.status === 'ready' ? answer : { ...answer, status: 503 }
    }),
  ]
}

const healthOf = (
  reasons: readonly UnreadyReason[],
  warnings: readonly UnreadyReason[],
  describe: (reason: UnreadyReason) => { readonly check: string; readonly message: string },
) => ({
  status: reasons.length === 0 ? ('ready' as const) : ('not_ready' as const),
  reasons: withoutRepetition(reasons).map(describe),
  ...(warnings.length > 0 && { warnings: warnings.map(describe) }),
})

interface RootOptions {
  readonly name: string
  readonly versions: readonly string[]
  /** The collections of every version. */
  readonly collections: readonly string[]
  /** Links to pages by name: `{docs: '/docs'}`. */
  readonly links?: Readonly<Record<string, string>>
  /** The path of the public URL; default: none. */
  readonly mountPath?: string
}

/** `/` links to all parts of the service. It has paths only, which are valid behind any proxy. */
export function rootRoute({
  name,
  versions,
  collections,
  links = {},
  mountPath = '',
}: RootOptions): Route {
  const perVersion = <T>(path: (version: string) => T) =>
    Object.fromEntries(versions.map((version) => [version, path(version)]))
  const body = {
    name,
    versions,
    links: {
      self: `${mountPath}/`,
      api: perVersion((version) =>
        Object.fromEntries(
          collections.map((name) => [name, `${mountPath}/api/${version}/${name}`]),
        ),
      ),
      openapi: perVersion((version) => `${mountPath}/openapi/${version}.json`),
      healthz: `${mountPath}/healthz`,
      readyz: `${mountPath}/readyz`,
      metrics: `${mountPath}/metrics`,
      ...Object.fromEntries(Object.entries(links).map(([name, path]) => [name, mountPath + path])),
    },
  }
  const headers = { link: '</.well-known/api-catalog>; rel="api-catalog"' } // RFC 9727
  return implement(operations.links, () => respond(operations.links, body, headers))
}

/**
 * Postpones the end of an operator's sessions by the time that the clock skips: the operator has
 * used the session just now.
 */
type ExtendSessions = (tx: Tx, subject: string, ms: number) => Promise<unknown>

/** Exists only if the test clock is enabled; otherwise the path is 404. */
export const clockRoutes = (
  keeper: ClockKeeper,
  perform: Perform,
  extendSessions: ExtendSessions,
): Route[] => [
  implement(clockOperations.read, () => respond(clockOperations.read, keeper.state(), NO_STORE)),
  implement(clockOperations.set, (call, change) =>
    perform(call, async (tx) => {
      const beforeMs = Date.parse(keeper.state().now)
      const state = await keeper.set(change, actorOf(call), tx)
      const { kind, subject } = call.principal!
      if (kind === 'operator') await extendSessions(tx, subject, Date.parse(state.now) - beforeMs)
      return respond(clockOperations.set, state, NO_STORE)
    }),
  ),
]

interface SystemOptions {
  readonly db: Pick<Database, 'name'>
  readonly clock: Clock
  readonly readiness: Pick<Readiness, 'report'>
  /** Faults that the node tolerates. */
  readonly warnings: HealthChecks
  readonly log: Log
  /** The release of Gatehook: `0.1.0`. */
  readonly release: string
  /** The version of Node: `process.version`. */
  readonly node: string
  /** `clock.elapsedMs()` at the start of the process. */
  readonly startedMs: number
  /** Every option with its source, without secrets (`platform/config/describe.ts`). */
  readonly configuration: ConfigurationReport
  readonly readFigures: () => Promise<SystemFigures>
}

export const systemRoute = (options: SystemOptions): Route =>
  implement(systemOperations.read, async () => {
    const { clock, db, log, release, node, configuration } = options
    // The figures have this node: both share a run of the checks.
    const [reasons, figures] = await Promise.all([
      options.readiness.report(),
      options.readFigures(),
    ])
    const warnings = await listUnreadyReasons(options.warnings, log)
    const report = {
      health: healthOf(reasons, warnings, reasonForOperators),
      release,
      node,
      now: isoTime(clock.now()),
      uptime_s: Math.floor((clock.elapsedMs() - options.startedMs) / 1000),
      database: db.name,
      ...figures,
      configuration,
    } as const
    return respond(systemOperations.read, report, NO_STORE)
  })
