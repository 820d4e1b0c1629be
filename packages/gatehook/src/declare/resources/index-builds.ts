/**
 * Creates the indexes of tables in use. On PostgreSQL a started service does so beside requests:
 * until an index exists, lists that need it are read within the bounds of §7.10. One node creates
 * an index, and the others notice that it exists.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../kernel/log.ts'
import type { Database, IndexBuild } from '../../platform/storage/database.ts'
import { indexKey } from '../../protocol/lists/collection.ts'
import type { MissingIndex } from './table-plan.ts'

/** The changes of indexes that a start leaves to the background. */
export interface IndexChanges {
  readonly missing: readonly MissingIndex[]
  /** Names of indexes that no list uses. */
  readonly unused: readonly string[]
}

export const NO_INDEX_CHANGES: IndexChanges = { missing: [], unused: [] }

/** The time between two looks at the indexes of the database, and at the progress of a build. */
const POLL_MS = 1_000
/** Pauses after a failed build, for example on a full disk. */
const RETRY_MS = 5_000
const RETRY_MAX_MS = 10 * 60_000
/**
 * Nodes of the previous declaration end within this. Until then their lists may use an index that
 * is unused in this one.
 */
const DROP_DELAY_MS = 60 * 60_000
/** The log reports the progress of a long build. */
const LOG_EVERY_MS = 30_000

/** SQLite creates an index of this many rows in about 0.1 s; only PostgreSQL reports progress. */
const LONG_BUILD_ROWS = 100_000

interface BuildOptions {
  readonly onProgress?: (line: string) => void
  readonly onReady?: (index: MissingIndex) => void
  readonly signal?: AbortSignal
}

/** Creates indexes, or waits until another node has created them. */
export async function buildIndexes(
  db: Database,
  indexes: readonly MissingIndex[],
  options: BuildOptions = {},
): Promise<void> {
  const { onReady = () => {}, signal } = options
  let waiting = indexes
  let current: MissingIndex | undefined
  while (waiting.length > 0 && !signal?.aborted) {
    const missing = await listMissing(db, waiting)
    for (const index of waiting) if (!missing.includes(index)) onReady(index)
    waiting = missing
    const [next] = waiting
    if (next === undefined) return
    if (next !== current) await announceBuild(db, next, options)
    current = next
    if (!(await buildNext(db, next, options))) await pause(POLL_MS, signal)
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

async function listMissing(
  db: Database,
  indexes: readonly MissingIndex[],
): Promise<readonly MissingIndex[]> {
  const names = new Set<string>()
  for (const table of new Set(indexes.map(({ table }) => table))) {
    for (const name of await db.indexes(table)) names.add(name)
  }
  return indexes.filter(({ name }) => !names.has(name))
}

/** Creates one index. Returns false if another node creates indexes now. */
async function buildNext(
  db: Database,
  index: MissingIndex,
  { onProgress = () => {}, signal }: BuildOptions,
): Promise<boolean> {
  const watch = new AbortController()
  const watching = watchBuild(db, onProgress, watch.signal)
  try {
    return await db.createIndexes([index], signal)
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
    await pause(POLL_MS, signal)
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

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined)

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
  /** Creates the missing indexes, and waits for the end. `onReady` receives a line for each. */
  finish(onProgress: (line: string) => void, onReady?: (line: string) => void): Promise<void>
  /** Returns the missing indexes with the progress of their builds, by any node. */
  report(): Promise<readonly MissingIndexState[]>
  /** Creates the missing indexes in the background; drops the unused ones after an hour. */
  start(): void
  /** Ends the background work; a build that this node began continues in the database. */
  stop(): Promise<void>
}

interface IndexBuilderDeps {
  readonly db: Database
  readonly log: Log
  readonly changes: IndexChanges
  /** Default: an hour. */
  readonly dropDelayMs?: number | undefined
}

export function createIndexBuilder(deps: IndexBuilderDeps): IndexBuilder {
  const { db, log, changes, dropDelayMs = DROP_DELAY_MS } = deps
  const keys = new Map<string, Set<string>>()
  for (const { table, columns } of changes.missing) {
    keys.set(table, (keys.get(table) ?? new Set()).add(indexKey(columns)))
  }
  const onReady = ({ table, columns }: MissingIndex) => keys.get(table)?.delete(indexKey(columns))
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const run = async () => {
    const info = (line: string) => log.info(line)
    const onProgress = limitRate(info)
    for (const { name, table } of changes.missing)
      info(`index ${name} of table ${table} is missing`)
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      try {
        const { signal } = stopping
        await buildIndexes(db, changes.missing, { onReady: reportReady(info), onProgress, signal })
        if (changes.unused.length > 0) await pause(dropDelayMs, signal)
        if (changes.unused.length > 0 && !signal.aborted) await db.dropIndexes(changes.unused)
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        log.error({ err: error }, 'an index cannot be created; another attempt follows')
      }
      await pause(Math.min(RETRY_MS * 2 ** failures, RETRY_MAX_MS), stopping.signal)
    }
  }
  const reportReady = (report: (line: string) => void) => (index: MissingIndex) => {
    onReady(index)
    report(`index ${index.name} of table ${index.table} is ready`)
  }
  return {
    missingIndexes: keys,
    finish: (onProgress, report = () => {}) =>
      buildIndexes(db, changes.missing, { onReady: reportReady(report), onProgress }),
    async report() {
      const isMissing = ({ table, columns }: MissingIndex) =>
        keys.get(table)!.has(indexKey(columns))
      const missing = changes.missing.filter(isMissing)
      if (missing.length === 0) return []
      const builds = await db.indexBuilds()
      return missing.map(({ table, name }) => {
        const build = builds.find((candidate) => candidate.name === name)
        const { phase = null, fraction: progress = 0, waitsFor = null } = build ?? {}
        return { table, name, phase, progress, waitsFor }
      })
    },
    start() {
      if (changes.missing.length + changes.unused.length > 0) running ??= run()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Passes at most one line per `LOG_EVERY_MS`, counted in polls, which have a fixed distance. */
function limitRate(log: (line: string) => void): (line: string) => void {
  let count = 0
  return (line) => {
    count++
    if (count % (LOG_EVERY_MS / POLL_MS) === 0) log(line)
  }
}
