/** The values that every component of the app is built on, and the component itself. Types only. */

import type { Service } from '../declare/resources/service.ts'
import type { AuditTrail } from '../history/audit/trail.ts'
import type { RecentEvent } from '../history/events/lost-events.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { RecentItems } from '../kernel/recent-items.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Tracing } from '../kernel/tracing.ts'
import type { RestoreFollower } from '../operate/restore/state.ts'
import type { Chores } from '../operate/system/janitor.ts'
import type { Config } from '../platform/config/config.ts'
import type { JobFigures } from '../platform/jobs/runner.ts'
import type { Database } from '../platform/storage/database.ts'
import type { PolledValue, SharedPoll } from '../platform/storage/shared-poll.ts'
import type { Ownership } from '../platform/storage/sqlite-owner.ts'
import type { TableState } from '../platform/storage/table-state.ts'
import type { Metric } from '../platform/telemetry/metric.ts'
import type { Endpoint, Route } from '../protocol/http/call.ts'

export interface AppOptions {
  readonly config: Config
  readonly service: Service
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** Whether this node serves the API (§2.5); else it serves probes and metrics. Default true. */
  readonly serves?: boolean
  /** Whether this node sends webhooks once it works (§2.5). Default true. */
  readonly delivers?: boolean
  /**
   * Whether a command opens the app: it reads without what a write needs, such as a synchronous
   * standby (§18.3), and never from a replica. Default false.
   */
  readonly isCommand?: boolean
  /** Whether it completes rows that lack computed values or words. Default true. */
  readonly fillsRows?: boolean
  /** Whether links have the address of the running node: for commands. Default false. */
  readonly adoptsNode?: boolean
  /** Whether the service is the reference service of this package. Default false. */
  readonly isReference?: boolean
  /** The version of the program: `0.1.0`. */
  readonly release?: string
  /**
   * Inserts sample data into the test mode of the default customer where it is empty; `first`: on
   * the first start only.
   */
  readonly seed?: boolean | 'first'
  /** Creates a test key on the first start and returns its text, which the operator sees once. */
  readonly testKey?: boolean
  /** API keys that are valid in this process only: the command line sends them with `inject`. */
  readonly processKeys?: ReadonlyMap<string, Principal>
  /** SQLite: holds the file, as a service does. Default: opens it beside the service. */
  readonly ownership?: Ownership
  /** SQLite: called when another process has taken the file over; this one must end. */
  readonly onTakenOver?: () => void
  /** Lets migrations take columns from nodes that run (§18.8). Default false. */
  readonly ignoresNodes?: boolean
  /** Recognizes restored data, as the start of a service does (§18.5). Default: does not. */
  readonly recognition?: {
    /** Whether the operator says that the data was restored. */
    readonly isRestored: boolean
  }
  /** Another program accepts its requests (§17.4). `pages`: it serves console and portal. */
  readonly mounted?: { readonly pages: boolean }
  /** Receives a line for each step of the start that may take long: migrations, sample data. */
  readonly onProgress?: (line: string) => void
}

export interface Foundation extends AppOptions {
  readonly random: Random
  readonly clock: Clock
  readonly vault: Vault
  readonly db: Database
  /** The findings of the last check of the tables. */
  readonly tables: TableState
  /** Undefined unless traces are exported (`OTEL_EXPORTER_OTLP_ENDPOINT`). */
  readonly tracing: Tracing | undefined
  /** The audit trail; it needs a migrated database (`prepare-database.ts`). */
  readonly trail: AuditTrail
  /** Lets endpoints of resources read from replicas (`identity/access/read-after.ts`). */
  readonly readAfter: (endpoint: Endpoint) => Endpoint
  /** Reads the state that other nodes change. */
  readonly poll: SharedPoll
  /** Whether the data was restored, and its deliveries, jobs and mail are held. */
  readonly restore: RestoreFollower
  /** Whether the clock is right as far as the node knows: purged rows never return. */
  readonly mayPurge: () => boolean
  /** Why no primary answers, as far as the node knows: replicas serve reads (§18.1). */
  readonly primaryFault: Database['fault']
  /** The events that this node has committed (`history/events/lost-events.ts`). */
  readonly recent: RecentItems<RecentEvent>
  /** The base of absolute links. With port 0 it is final once the server listens. */
  readonly publicUrl: () => string
}

/** The values that exist before the database is migrated. */
export type BaseFoundation = Omit<
  Foundation,
  'trail' | 'recent' | 'poll' | 'publicUrl' | 'restore' | 'mayPurge'
>

/** A module as the app runs it: the endpoints it serves and the work it does in the background. */
export interface Component {
  /** Routes of the engine; each has its row in `route-table.ts`. */
  readonly routes?: readonly Route[]
  /** Endpoints that the service declares. */
  readonly endpoints?: readonly Endpoint[]
  /** Figures, read when `/metrics` is requested. */
  readonly metrics?: readonly Metric[]
  /** Purges that the janitor runs, on one node at a time. */
  readonly chores?: Chores
  /** Runs due jobs of its lane once, without background work. Returns the attempts. */
  readonly runDue?: () => Promise<JobFigures['attempts']>
  /** Names of chores that every node runs, because they also purge its memory. */
  readonly nodeChores?: readonly string[]
  /** Values of the poll of this node, once it works. */
  readonly polled?: readonly PolledValue[]
  /** Whether its work leaves the machine: it does not run while restored data is held (§18.5). */
  readonly isOutward?: boolean
  /** Starts background work, which `stop` ends. Commands of the CLI never start it. */
  readonly start?: () => void | Promise<void>
  /** Ends work that may last as long as the requests in flight, while these finish (§2.4). */
  readonly drain?: () => Promise<void>
  readonly stop?: () => Promise<void>
}
