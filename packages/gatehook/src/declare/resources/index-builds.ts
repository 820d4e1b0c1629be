/**
 * Creates the indexes of tables in use. On PostgreSQL jobs of a started service do so beside
 * requests: until an index exists, lists that need it are read within the bounds of §7.10.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { Continuation, type JobAttempt, type JobHandler } from '../../platform/jobs/job.ts'
import { selectIsRunning } from '../../platform/jobs/store.ts'
import type { Database, IndexBuild } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { indexKey } from '../../protocol/lists/collection.ts'
import type { MissingIndex } from './table-plan.ts'

/** The changes of indexes that a start leaves to the background. */
export interface IndexChanges {
  readonly missing: readonly MissingIndex[]
  /** Names of indexes that no list uses. */
  readonly unused: readonly string[]
}

/** The time between two looks at the indexes of the database, and at the progress of a build. */
const POLL_MS = 1_000
/** A job looks again after this time while another session creates indexes. */
const LOOK_MS = 10_000
/**
 * Nodes of the previous declaration end within this. Until then their lists may use an index that
 * is unused in this one.
 */
const DROP_DELAY_MS = 60 * 60_000
/** A build takes as long as the table and open transactions require. */
const TIMEOUT_MS = 14 * 86_400_000

/** SQLite creates an index of this many rows in about 0.1 s; only PostgreSQL reports progress. */
const LONG_BUILD_ROWS = 100_000

interface BuildOptions {
  readonly onProgress?: (line: string) => void
  readonly onReady?: (index: MissingIndex) => void
}

/** Creates indexes, or waits until another node has created them. */
export async function buildIndexes(
  db: Database,
  indexes: readonly MissingIndex[],
  options: BuildOptions = {},
): Promise<void> {
  for (const index of indexes) {
    await announceBuild(db, index, options)
    while (!(await buildIndex(db, index, options))) await pause()
    options.onReady?.(index)
  }
}

async function announceBuild(
  db: Database,
  { table, name }: MissingIndex,
  { onProgress = () => {} }: BuildOptions,
): Promise<void> {
  const { rows } = await db.size(table)
  if (rows >= LONG_BUILD_ROWS) onProgress(`index ${name} of table ${table}: up to ${rows} rows`)
}

/** Creates an index, unless it exists. Returns false if another node creates indexes now. */
async function buildIndex(
  db: Database,
  index: MissingIndex,
  { onProgress = () => {} }: BuildOptions,
): Promise<boolean> {
  const watch = new AbortController()
  const watching = watchBuild(db, onProgress, watch.signal)
  try {
    return await db.createIndexes([index])
  } finally {
    watch.abort()
    await watching
  }
}

/** Reports the progress of the build, this node's or another's, until `signal` ends it. */
async function watchBuild(
  db: Database,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(signal)
    if (signal.aborted) return
    // Progress is no reason to stop a build.
    const builds = await db.indexBuilds().catch(() => [])
    for (const build of builds) onProgress(describeBuild(build))
  }
}

/** `index orders_by_amount of table orders: 45 %, index validation: scanning table` */
export function describeBuild({ table, name, phase, fraction, waitsFor }: IndexBuild): string {
  const percent = `${Math.floor(fraction * 100)} %`
  const reason = waitsFor === undefined ? '' : `, for the transaction of process ${waitsFor}`
  return `index ${name} of table ${table}: ${percent}, ${phase}${reason}`
}

const pause = (signal?: AbortSignal): Promise<void> =>
  delay(POLL_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined)

interface MissingIndexState {
  readonly table: string
  readonly name: string
  readonly phase: string | null
  readonly progress: number
  readonly waitsFor: number | null
}

export interface IndexBuilder {
  /** The keys of the missing indexes of each resource, which lists must not use. */
  readonly missingIndexes: ReadonlyMap<string, ReadonlySet<string>>
  /** Returns the names of the indexes that are still missing. */
  pending(): readonly string[]
  /** Creates the missing indexes, and waits for the end. `onReady` receives a line for each. */
  finish(onProgress: (line: string) => void, onReady?: (line: string) => void): Promise<void>
  /** Returns the missing indexes with the progress of their builds, by any node. */
  report(): Promise<readonly MissingIndexState[]>
  /** The jobs that create the missing indexes, and drop the unused ones after an hour. */
  readonly handlers: readonly JobHandler[]
  /** Looks at the missing indexes with each poll of the node: any node creates them. */
  readonly polled: readonly PolledValue[]
}

interface IndexBuilderDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly changes: IndexChanges
}

export function createIndexBuilder(deps: IndexBuilderDeps): IndexBuilder {
  const { db, clock, log, changes } = deps
  const keys = new Map<string, Set<string>>()
  for (const { table, columns } of changes.missing) {
    keys.set(table, (keys.get(table) ?? new Set()).add(indexKey(columns)))
  }
  const reportReady = (report: (line: string) => void) => (index: MissingIndex) => {
    keys.get(index.table)?.delete(indexKey(index.columns))
    report(`index ${index.name} of table ${index.table} is ready`)
  }
  const listOpen = () =>
    changes.missing.filter(({ table, columns }) => keys.get(table)!.has(indexKey(columns)))
  const look = async () => {
    const onReady = reportReady((line) => log.info(line))
    for (const index of listOpen())
      if ((await db.indexes(index.table)).includes(index.name)) onReady(index)
  }
  const dropAt = clock.now() + DROP_DELAY_MS
  const handlers = [
    ...changes.missing.map((index) => ({
      name: index.name,
      async run({ signal }: JobAttempt) {
        // Its lock is stronger than the claim of a job: it lasts as long as the server builds.
        const isBuilt = await db.createIndexes([index], signal)
        return isBuilt ? undefined : new Continuation(clock.now() + LOOK_MS)
      },
    })),
    ...changes.unused.map((name) => ({
      name: `drop ${name}`,
      async run() {
        if (clock.now() < dropAt) return new Continuation(dropAt)
        return db.dropIndexes([name])
      },
    })),
  ].map(
    (handler): JobHandler => ({
      kind: 'index',
      attempts: Number.POSITIVE_INFINITY,
      timeoutMs: TIMEOUT_MS,
      ...handler,
    }),
  )
  return {
    missingIndexes: keys,
    pending: () => listOpen().map(({ name }) => name),
    finish: (onProgress, report = () => {}) =>
      buildIndexes(db, changes.missing, { onReady: reportReady(report), onProgress }),
    async report() {
      const missing = listOpen()
      if (missing.length === 0) return []
      const builds = await db.indexBuilds()
      return missing.map(({ table, name }) => {
        const build = builds.find((candidate) => candidate.name === name)
        const { phase = null, fraction: progress = 0, waitsFor = null } = build ?? {}
        return { table, name, phase, progress, waitsFor }
      })
    },
    handlers,
    polled:
      changes.missing.length === 0
        ? []
        : [{ select: () => selectIsRunning('index'), receive: look }],
  }
}
