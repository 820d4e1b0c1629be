/** Whether this node can work, and why not (§12.1). What is checked is a table made in `app.ts`. */
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Database } from '../storage/database.ts'
import { pending } from '../storage/migrate.ts'
import { writeSetting } from '../storage/settings.ts'
import { sql } from '../storage/sql.ts'

/** A sentence that says why not, without anything internal in it; undefined when all is well. */
export type Check = () => Promise<string | undefined> | string | undefined
export type Checks = Readonly<Record<string, Check>>

export interface Reason {
  readonly check: string
  readonly message: string
}

const ANSWER_LIMIT_MS = 2000

/** Why the node is not ready; none when it is. Every check answers within two seconds. */
export async function unreadiness(checks: Checks, log: Log): Promise<Reason[]> {
  const all = Object.entries(checks).map(async ([check, run]): Promise<Reason | undefined> => {
    const message = await inTime(run).catch((error: unknown) => {
      log.warn({ err: error, check }, 'a readiness check failed')
      return 'This check failed; the log says more.'
    })
    return message === undefined ? undefined : { check, message }
  })
  return (await Promise.all(all)).filter((reason) => reason !== undefined)
}

async function inTime(run: Check): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, ANSWER_LIMIT_MS, `No answer within ${ANSWER_LIMIT_MS} ms.`)
  })
  const answer = Promise.resolve().then(run)
  answer.catch(() => undefined) // one that fails after the time is up has nobody left to tell
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

export const databaseCheck =
  (db: Database): Check =>
  async () => {
    await db.get(sql`SELECT 1 AS one`)
    return undefined
  }

/** How long the answer of the last trial stands: probes must not become a load of writes. */
const TRIAL_MS = 5000

/**
 * Reads go on where the disk is full or the database is a standby, so the check writes a row of
 * its own, at most every five seconds.
 */
export function writeCheck(db: Database, clock: Clock): Check {
  let trial: Promise<string | undefined> | undefined
  let triedMs = Number.NEGATIVE_INFINITY
  const write = async () => {
    try {
      await db.write((tx) => writeSetting(tx, 'last_trial', clock.now()))
      return undefined
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return 'Nothing can be written at the moment.'
    }
  }
  return () => {
    if (!trial || clock.elapsedMs() - triedMs >= TRIAL_MS) {
      triedMs = clock.elapsedMs()
      trial = write()
    }
    return trial
  }
}

/** Asks until nothing is missing, then never again: migrations are not taken back. */
export function migrationCheck(db: Database): Check {
  let done = false
  return async () => {
    done ||= (await pending(db)).length === 0
    return done ? undefined : 'The database is not migrated yet.'
  }
}

export const drainCheck =
  (draining: () => boolean): Check =>
  () =>
    draining() ? 'This node is shutting down.' : undefined
