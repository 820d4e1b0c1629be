/** A running API as its callers see it: the CLI, the embedding program, tests. Types only. */

import type { SeedCounts } from '../declare/resources/seed.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import type { Versions } from '../declare/versions/versions.ts'
import type { AuditTrail } from '../history/audit/trail.ts'
import type { Administration } from '../identity/access/administration.ts'
import type { FirstRunResult } from '../identity/access/first-run.ts'
import type { Oauth } from '../identity/oauth/api.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import type { ClockKeeper } from '../operate/system/clock.ts'
import type { Database } from '../platform/storage/database.ts'
import type { HttpServer } from '../protocol/http/server.ts'
import type { BackgroundWork } from './background-work.ts'
import type { Erasure } from './erasure.ts'
import type { JobsModule } from './jobs.ts'
import type { SignInModules } from './people.ts'
import type { SecretsComponent } from './secrets.ts'

export interface AppParts {
  readonly db: Database
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  /** The rows of the first start; `testKey` only if the options request it. */
  readonly firstRun: FirstRunResult
  readonly seeded: SeedCounts
  /**
   * The first argument of the operations of `identity/access/`: `createKey(app.administration, …)`.
   */
  readonly administration: Administration
  readonly people: SignInModules['people']
  readonly hasher: SignInModules['hasher']
  /** Sends mail that is due; background work does so too. */
  readonly mail: Pick<SignInModules['mail'], 'sendDue'>
  /** Exports a customer; runs deletions that are due, without background work. */
  readonly erasure: Pick<Erasure, 'runDue' | 'exportCustomer' | 'exportPerson'>
  /** Runs due jobs without background work. */
  readonly jobs: Pick<JobsModule, 'runDue' | 'openSchedules'>
  /** The first argument of operations on clients: `createClient(app.oauth.administration, …)`. */
  readonly oauth: Pick<Oauth, 'administration'>
  /** Undefined without `GATEHOOK_TEST_CLOCK`. */
  readonly clock: ClockKeeper | undefined
  /** Calendars, usage and the operations of §13 on versions. */
  readonly versioning: Versions
  readonly tokens: Tokens
  readonly audit: AuditTrail
  /** The status and the rotation of the master secret. */
  readonly secrets: Pick<SecretsComponent, 'rotate' | 'status' | 'follow'>
  /**
   * Creates the indexes that background work would create, and waits for them. `onReady` receives a
   * line for each index.
   */
  finishIndexes(onProgress: (line: string) => void, onReady?: (line: string) => void): Promise<void>
  openapi(version: string): unknown
  /** The base of absolute links. */
  readonly publicUrl: () => string
  /** Starts background work without opening a port (§2.5). */
  work(): Promise<void>
  /** Purges, and runs all jobs that are due, without background work. Returns the attempts. */
  readonly runDue: BackgroundWork['runDue']
  /** Starts background work and the server. `internalUrl`: the listener for private networks. */
  listen(): Promise<{ url: string; port: number; internalUrl?: string }>
  /** Sends a request without a socket. */
  readonly inject: HttpServer['inject']
  /** Serves a request, or a connection, that another program has accepted (§17.4). */
  readonly server: Pick<HttpServer, 'adopt' | 'connect'>
  /**
   * Makes the node unready; it serves until load balancers have noticed (§2.4). A mounted app then
   * ends its streams, and waits for requests in flight. `close` follows.
   */
  drain(): Promise<void>
  /** Waits for requests in flight (§2.4), then closes everything. */
  close(): Promise<void>
}
