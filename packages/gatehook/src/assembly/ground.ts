/** What every part of the app stands on, and what a part is. Types only. */
import type { AuditTrail } from '../audit/trail.ts'
import type { Config } from '../config/config.ts'
import type { Endpoint } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Service } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import type { Chores } from '../system/janitor.ts'
import type { Metric } from '../system/metrics.ts'

export interface AppOptions {
  readonly config: Config
  readonly service: Service
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** Whether this node serves the API (§2.5); else it answers probes and metrics. Default true. */
  readonly serves?: boolean
  /** Whether this node sends webhooks, once it works (§2.5). Default true. */
  readonly delivers?: boolean
  /** The program's own version: `0.1.0`. */
  readonly release?: string
  /**
   * Sample data in test mode of the default customer, where it is empty; `first`: on the first
   * start only.
   */
  readonly seed?: boolean | 'first'
  /** Make a test key on the first run and give its text, to be shown to a person once. */
  readonly testKey?: boolean
  /** Told what start does that may take long: migrations, seeds. */
  readonly onProgress?: (line: string) => void
}

export interface Ground extends AppOptions {
  readonly random: Random
  readonly clock: Clock
  readonly vault: Vault
  readonly db: Database
  /** The audit trail, from the moment the database is migrated (`prepare.ts`). */
  readonly trail: AuditTrail
  /** Base of absolute links; the port may be known only once the service listens. */
  readonly publicUrl: () => string
}

/** A room as the app sees it. What others need of it besides, it gives by name. */
export interface Part {
  readonly endpoints?: readonly Endpoint[]
  /** Its figures, read when somebody asks for them. */
  readonly metrics?: readonly Metric[]
  /** What the janitor throws away. */
  readonly chores?: Chores
  /** Begins background work, which `stop` ends; commands of the CLI never begin it. */
  readonly start?: () => void | Promise<void>
  /** What may take as long as requests in flight, and ends while they do (§2.4). */
  readonly drain?: () => Promise<void>
  readonly stop?: () => Promise<void>
}
