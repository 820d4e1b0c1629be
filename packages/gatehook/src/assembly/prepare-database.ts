/** Migrates the database for this program and this service, and does a first start's work. */

import { listUndeclaredAdditions } from '../declare/resources/additions.ts'
import { refuseOtherService, requireOwnTables } from '../declare/resources/database-owner.ts'
import { signInResource } from '../declare/resources/directory.ts'
import { emittedEventTypes } from '../declare/resources/event-type-list.ts'
import { listEngineIndexes } from '../declare/resources/expected-tables.ts'
import { createIndexBuilder, type IndexBuilder } from '../declare/resources/index-builds.ts'
import { migrateService } from '../declare/resources/migrate.ts'
import { openSchemaCheck, type SchemaCheck } from '../declare/resources/schema-check.ts'
import { listScopeChanges, listScopes } from '../declare/resources/scopes.ts'
import { recordSecretColumns } from '../declare/resources/secret-columns.ts'
import { type SeedCounts, seedService } from '../declare/resources/seed.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { engineTables, migrateEngine } from '../engine-tables.ts'
import { type AuditTrail, openAuditTrail } from '../history/audit/trail.ts'
import { createRecentEvents, type RecentEvent } from '../history/events/lost-events.ts'
import {
  type Administration,
  DEFAULT_CUSTOMER,
  isInstallationScope,
} from '../identity/access/administration.ts'
import { type FirstRunResult, performFirstRun } from '../identity/access/first-run.ts'
import { createKeyVerifier, type KeyVerifier } from '../identity/access/key-verifier.ts'
import { findCustomer } from '../identity/access/store.ts'
import { moveNames } from '../identity/people/store.ts'
import { ensureSigningKey } from '../identity/tokens/signing-keys.ts'
import { SettableClock, wallClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { type Mode, type Scope, scopeOf } from '../kernel/principal.ts'
import type { RecentItems } from '../kernel/recent-items.ts'
import { recognizeRestore } from '../operate/restore/recognition.ts'
import { followRestore, type RestoreFollower } from '../operate/restore/state.ts'
import { type ClockKeeper, clockKeeper } from '../operate/system/clock.ts'
import { type ClockDifference, createClockDifference } from '../operate/system/clock-difference.ts'
import { type ClockSteps, createClockSteps, doubtPause } from '../operate/system/clock-steps.ts'
import { declareEmittedTypes } from '../outbound/emissions/declared-types.ts'
import { nodeNameOf } from '../platform/config/environment.ts'
import type { Database } from '../platform/storage/database.ts'
import type { AppliedChange } from '../platform/storage/migrate.ts'
import { createSharedPoll, type SharedPoll } from '../platform/storage/shared-poll.ts'
import { readTableParts } from '../platform/storage/table-parts.ts'
import { DeclarationError } from '../protocol/fields/declaration-mistakes.ts'
import {
  createPendingChanges,
  type PendingChanges,
} from '../protocol/idempotency/pending-changes.ts'
import type { BaseFoundation } from './foundation.ts'
import { settleSecrets } from './secrets.ts'

export interface PreparedDatabase {
  readonly service: ServiceDefinition
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  readonly keys: KeyVerifier
  readonly administration: Administration
  readonly trail: AuditTrail
  /** Reads the state that other nodes change. */
  readonly poll: SharedPoll
  readonly restore: RestoreFollower
  /** The events that this node has committed. */
  readonly recent: RecentItems<RecentEvent>
  /** The changes that requests wait for. */
  readonly pending: PendingChanges
  readonly firstRun: FirstRunResult
  readonly seeded: SeedCounts
  /** Undefined without `GATEHOOK_TEST_CLOCK`. */
  readonly keeper: ClockKeeper | undefined
  /** Creates indexes of tables in use while the service runs. */
  readonly indexes: IndexBuilder
  /** Measures how far the clock of the machine differs from that of the database. */
  readonly clockDifference: ClockDifference
  readonly clockSteps: ClockSteps
  /** See `Foundation`. */
  readonly mayPurge: () => boolean
  /** Compares the database with the columns that this node uses. */
  readonly schema: SchemaCheck
  /** The rows that unauthenticated callers read: live mode of the default customer (§6.10). */
  readonly publicScope: Scope
}

/** `engine migrated to 2: notes of customers` */
function describeMigrations(applied: readonly AppliedChange[]): string {
  const { number, name } = applied.at(-1)!
  return `engine migrated to ${number}: ${name}`
}

/** Throws `StorageError` and `DeclarationError`: sentences for the operator. */
export async function prepareDatabase(foundation: BaseFoundation): Promise<PreparedDatabase> {
  const { config, log, clock, random, vault, db, tables, onProgress = () => {} } = foundation
  const service = foundation.service.definition
  const versions = service.versions.map((version) => version.name)
  if (foundation.isReference) await refuseOtherService(db, service)
  const isShared = await requireOwnTables(db, service, foundation)
  // Before migrations: the start of a file deletes the reports of its former processes.
  await doubtPause(db, clock)
  const { applied } = await migrateEngine(db, {
    clock,
    onWait: onProgress,
    onProgress: ({ number, name }) => log.debug({ number, name }, 'engine migration'),
  })
  if (applied.length > 0) onProgress(describeMigrations(applied))
  await settleSecrets({ db, config, vault, random })
  const changes = await migrateService(db, service, onProgress, {
    defersIndexes: true,
    ignoresNodes: foundation.ignoresNodes ?? false,
    now: () => clock.now(),
    random,
    leavesRows: foundation.fillsRows === false,
  })
  await recordDeclaration(db, clock, service)
  const columns = await listUndeclaredAdditions(db, service.resources)
  if (columns.length > 0) {
    log.info({ columns }, 'another declaration has added columns that this one lacks; they stay')
  }
  await moveSignInNames(db, service)
  const missing = [...changes.missing, ...(await listLostIndexes(db))]
  const indexes = createIndexBuilder({ db, clock, log, changes: { ...changes, missing } })
  const retentionDays = config.auditRetentionDays
  const node = nodeNameOf(config)
  const trail = await openAuditTrail({ db, clock, random, vault, log, node, retentionDays })
  const { recognition } = foundation
  if (recognition) {
    const audit = { clock, random, trail }
    await recognizeRestore({ db, config, audit, log, ...recognition })
  }
  await ensureSigningKey(db, { clock, vault })
  const keys = createKeyVerifier({ db, clock, log })
  const administration: Administration = {
    db,
    write: db.write,
    clock,
    random,
    trail,
    scopes: listScopes(service),
    changes: listScopeChanges(service),
    versions,
    onChange: keys.evict,
  }
  const first = await performFirstRun(administration, {
    bootstrapKey: config.bootstrapKey,
    testKeyScopes: foundation.testKey
      ? [...administration.scopes].filter((scope) => !isInstallationScope(scope))
      : undefined,
  })
  const testScope = await defaultScope(db, 'test')
  const isFirst = foundation.seed === 'first'
  const isSeedRequested = isFirst ? first.created && !isShared : foundation.seed
  const seed = () => seedService(service, testScope, { db, clock, random })
  const seeded = isSeedRequested ? await (isFirst ? seedFirst(seed, log) : seed()) : {}
  for (const [name, count] of Object.entries(seeded)) onProgress(`${count} sample ${name}`)
  const keeper =
    clock instanceof SettableClock ? clockKeeper({ db, clock, random, trail }) : undefined
  await keeper?.follow()
  const publicScope = await defaultScope(db, 'live')
  return {
    ...watchClock({ db, clock, log, node }),
    service,
    versions,
    keys,
    administration,
    trail,
    poll: createSharedPoll({ db, clock, log }),
    restore: await followRestore(db),
    recent: createRecentEvents(db, clock),
    pending: createPendingChanges(wallClock),
    firstRun: first,
    seeded,
    keeper,
    publicScope,
    indexes,
    schema: await openSchemaCheck({
      ...{ db, dialect: db.dialect, log, tables },
      resources: service.resources,
      pendingIndexes: indexes.pending,
    }),
  }
}

/** Returns the indexes of the engine that the database has lost, which are not unique. */
async function listLostIndexes(db: Database) {
  const expected = listEngineIndexes(db.dialect)
  if (expected.length === 0) return []
  const names = engineTables.map(({ name }) => name)
  const { indexes } = await readTableParts(db, names)
  return expected.filter(({ name }) => !indexes.has(name))
}

/** Stores what other programs and later starts read of the declaration. */
async function recordDeclaration(
  db: Database,
  clock: BaseFoundation['clock'],
  service: ServiceDefinition,
): Promise<void> {
  await declareEmittedTypes(db, clock, emittedEventTypes(service))
  await recordSecretColumns(db, service.resources)
}

/** Applies `names` of `.signsIn()` to the accounts of an earlier declaration (§4.8). */
async function moveSignInNames(db: Database, { resources }: ServiceDefinition): Promise<void> {
  const definition = signInResource(resources)
  if (!definition) return
  const { names } = definition.signsIn!
  if (await moveNames(db, names)) return
  throw new DeclarationError(
    `.signsIn() of ${definition.name}: two customers or modes have an account of the same name, ` +
      'so that names cannot be unique in the installation. Rename or delete one, or declare ' +
      "names: 'customer'.",
  )
}

/** Watches the clock of the machine: against that of the database, and for steps. */
function watchClock(deps: Pick<BaseFoundation, 'db' | 'clock' | 'log'> & { node: string }) {
  const { clock, log } = deps
  // A test clock differs on purpose.
  const ofMachine = clock instanceof SettableClock ? wallClock : clock
  const clockDifference = createClockDifference({ ...deps, clock: ofMachine })
  const clockSteps = createClockSteps(clock, log)
  const mayPurge = () => !clockSteps.isHeld() && !clockDifference.isDoubtful()
  return { clockDifference, clockSteps, mayPurge }
}

const defaultScope = async (db: Database, mode: Mode): Promise<Scope> =>
  scopeOf((await findCustomer(db, DEFAULT_CUSTOMER))!.no, mode)

/** A mistake in sample data does not end the first start, which alone shows the first key. */
const seedFirst = (seed: () => Promise<SeedCounts>, log: Log): Promise<SeedCounts> =>
  seed().catch((error) => {
    if (!(error instanceof DeclarationError)) throw error
    log.warn(`no sample rows: ${error.message}`)
    return {}
  })
