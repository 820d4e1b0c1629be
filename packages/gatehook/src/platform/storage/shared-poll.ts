/**
 * The poll of a node (decision 0055): one statement reads a value for each kind of state that other
 * nodes change, and the reader of a value queries more only if it has changed. An idle node on
 * PostgreSQL polls less often; a request that arrives then waits for a poll first.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import type { Database, Value } from './database.ts'
import { join, type Sql, sql } from './sql.ts'

/** Time between polls while requests arrive. */
export const POLL_MS = 1_000
/** Time between polls of an idle node on PostgreSQL, where each is a round trip. */
export const IDLE_POLL_MS = 5_000
/** A node without requests for this time is idle. */
const IDLE_AFTER_MS = 10_000
/** A request waits for a poll if the last one is older: state is at most 2 s old (§3.10, §4.7). */
const STALE_MS = 1_500
/** A jump of the test clock that makes a poll due: work follows it within a second (§12.6). */
const JUMP_MS = 1_000
/** A request waits for a poll for at most this time, and for none while polls fail. */
const WAIT_MAX_MS = 1_000
const CHECK_MS = 250
const FAILURE = 'the state that other nodes change could not be read'

/** A value that each poll reads. */
export interface PolledValue {
  /** Returns SQL of one value. It is an operand: a subquery has its parentheses. */
  readonly select: () => Sql
  /**
   * Receives the value. A request that waits for the poll waits for the result too; a rejection is
   * logged, and does not affect other values.
   *
   * @param begunMs when the poll began, in monotonic milliseconds
   */
  readonly receive: (value: Value, begunMs: number) => unknown
}

export interface SharedPoll {
  /** Polls. Concurrent callers share a poll. Rejects if the database does. */
  poll(): Promise<void>
  /**
   * Polls if the last poll is too old for a request. Undefined: the request need not wait, or
   * should not, because the database does not respond. Never rejects.
   */
  refresh(): Promise<void> | undefined
  /** Says that the last poll failed. */
  check(): string | undefined
  start(values: readonly PolledValue[]): void
  stop(): Promise<void>
}

interface SharedPollDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
}

export function createSharedPoll({ db, clock, log }: SharedPollDeps): SharedPoll {
  let values: readonly PolledValue[] = []
  let stopInterval: (() => Promise<void>) | undefined
  let current: Promise<void> | undefined
  /** When the last poll began; also of one that failed. */
  let lastPoll = { now: 0, elapsedMs: Number.NEGATIVE_INFINITY }
  /** When the last poll began whose values were received. */
  let readMs = Number.NEGATIVE_INFINITY
  let usedMs = Number.NEGATIVE_INFINITY
  let isFailing = false

  const receiveRow = async (row: readonly Value[], begunMs: number) => {
    const receipts = values.map(async (value, at) => value.receive(row[at]!, begunMs))
    for (const result of await Promise.allSettled(receipts)) {
      if (result.status === 'rejected') log.warn({ err: result.reason }, FAILURE)
    }
  }
  const run = async () => {
    lastPoll = { now: clock.now(), elapsedMs: clock.elapsedMs() }
    const begunMs = lastPoll.elapsedMs
    try {
      const [row] = await db.arrays(sql`SELECT ${join(values.map(({ select }) => select()))}`)
      await receiveRow(row!, begunMs)
      readMs = begunMs
      isFailing = false
    } catch (error) {
      // Of a series of failures the log has the first.
      if (!isFailing) log.warn({ err: error }, FAILURE)
      isFailing = true
      throw error
    }
  }
  const poll = () => {
    if (values.length === 0) return Promise.resolve()
    current ??= run().finally(() => {
      current = undefined
    })
    return current
  }
  const isDue = () => {
    const elapsedMs = clock.elapsedMs() - lastPoll.elapsedMs
    const jumpMs = clock.now() - lastPoll.now - elapsedMs
    const isIdle = db.dialect.shared && clock.elapsedMs() - usedMs >= IDLE_AFTER_MS
    return jumpMs >= JUMP_MS || elapsedMs >= (isIdle ? IDLE_POLL_MS : POLL_MS)
  }
  return {
    poll,
    refresh() {
      if (!stopInterval) return undefined
      usedMs = clock.elapsedMs()
      const isHanging = current !== undefined && usedMs - lastPoll.elapsedMs >= WAIT_MAX_MS
      if (usedMs - readMs < STALE_MS || isFailing || isHanging) return undefined
      return resolveWithin(
        WAIT_MAX_MS,
        poll().catch(() => undefined),
      )
    },
    check: () => (isFailing ? 'The database does not respond.' : undefined),
    start(polledValues) {
      values = polledValues
      const runIfDue = async () => {
        if (isDue()) await poll().catch(() => undefined)
      }
      const interval = { intervalMs: CHECK_MS, run: runIfDue, log, failure: FAILURE }
      stopInterval ??= startInterval(interval)
    },
    async stop() {
      await stopInterval?.()
      stopInterval = undefined
      await current?.catch(() => undefined)
    },
  }
}
