/**
 * Copies the log of SQLite into the database on a thread, while others write. On the thread of
 * requests the copy of 16 MiB would take 30 to 90 ms, in which no customer is served (§11.5). The
 * log begins again when all of it is copied. Under a load without a pause the thread never copies
 * the last pages, so the writer copies these after a commit.
 */
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../kernel/clock.ts'
import type { Connection } from './sqlite-connection.ts'

/** Pages of the log that are not copied, from which the thread copies: 4 MiB. */
const COPIED_FROM_PAGES = 2_048
/** Pages of a log that is to begin again: 16 MiB. A copy writes a page that changed often once. */
const LONG_LOG_PAGES = 8_192
/** Pages of a log that grows because long reads follow one another: 64 MiB. */
const HELD_LOG_PAGES = 16_384
/** Pages that the writer copies: in less than a millisecond. */
const LAST_PAGES = 256
/** The shortest time between two looks at the log. */
const LOOK_MS = 20
/** After a copy that failed: the disk may be full. */
const FAILED_MS = 5_000
/** An idle thread occupies about 10 MB, so it ends after this time. */
const IDLE_MS = 60_000
const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 }

/** Reads the pages of the log and those of them that are copied; copies none. */
const LOOK = { sql: 'PRAGMA wal_checkpoint(NOOP)', text: '', values: [] }
const COPY = { sql: 'PRAGMA wal_checkpoint(PASSIVE)', text: '', values: [] }

interface LogSize {
  readonly log: number
  readonly checkpointed: number
}

export interface Checkpoints {
  /** Starts a copy if the log has enough pages. Called after each commit, and never throws. */
  afterCommit(): void
  /** Whether the log has grown much since it began again, or since the last pause of reads. */
  isHeld(): boolean
  /** Notes that long reads have paused, so that the log could begin again. */
  notePause(): void
  /** Ends the thread, and starts no copy any more. */
  close(): Promise<void>
}

/** `file`: the absolute path of the database. */
export function createCheckpoints(
  file: string,
  writer: Connection,
  clock: Pick<Clock, 'elapsedMs'>,
): Checkpoints {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isCopying = false
  let isClosed = false
  let nextLookMs = Number.NEGATIVE_INFINITY
  /** Pages of the log at the last look, and at the last pause. */
  let pages = 0
  let pausedPages = 0

  const end = async () => {
    const ended = worker
    worker = undefined
    isCopying = false
    clearTimeout(idle)
    await ended?.terminate()
  }
  const onCopied = (isComplete: boolean) => {
    isCopying = false
    if (!isComplete) nextLookMs = clock.elapsedMs() + FAILED_MS
    idle = setTimeout(end, IDLE_MS).unref()
  }
  const startThread = (): Worker => {
    // The package ships .js; the source runs as .ts.
    const script = import.meta.url.replace(/sqlite-checkpoints(\.\w+)$/, 'sqlite-copy-worker$1')
    const thread = new Worker(new URL(script), { workerData: { file }, resourceLimits: LIMITS })
    thread.unref() // lets the process exit
    thread.on('message', onCopied)
    const onEnd = () => {
      if (worker !== thread) return
      nextLookMs = clock.elapsedMs() + FAILED_MS
      void end()
    }
    thread.on('error', onEnd)
    thread.on('exit', onEnd)
    return thread
  }
  /** Copies the last pages of a long log, or lets the thread copy many. */
  const look = () => {
    const { log, checkpointed } = writer.get(LOOK) as unknown as LogSize
    if (log < pages) pausedPages = 0
    pages = log
    const left = log - checkpointed
    if (log >= LONG_LOG_PAGES && left < LAST_PAGES) writer.get(COPY)
    if (left < COPIED_FROM_PAGES) return
    clearTimeout(idle)
    worker ??= startThread()
    worker.postMessage({ copy: file })
    isCopying = true
  }
  return {
    afterCommit() {
      const nowMs = clock.elapsedMs()
      if (isCopying || isClosed || nowMs < nextLookMs) return
      nextLookMs = nowMs + LOOK_MS
      try {
        look()
      } catch {
        // The transaction is committed, and its log remains.
        nextLookMs = nowMs + FAILED_MS
      }
    },
    isHeld: () => pages - pausedPages >= HELD_LOG_PAGES,
    notePause() {
      pausedPages = pages
    },
    async close() {
      isClosed = true
      await end()
    },
  }
}
