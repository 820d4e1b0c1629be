/**
 * The engine as the app sees it: a call to wake it, its figures. Which node delivers is the app's
 * choice (§2.5); every node makes deliveries and wakes those who do.
 */
import type { Log } from '../kernel/log.ts'
import type { Database } from '../storage/database.ts'
import { CHANNEL, type EngineSettings, textOf } from './engine-room.ts'
import { type Figures, NO_FIGURES } from './figures.ts'
import { type EngineThread, startThread } from './thread.ts'

export interface DeliveriesDeps {
  readonly db: Database
  readonly log: Log
  /** Whether this node sends. */
  readonly delivers: boolean
  readonly settings: EngineSettings
}

export interface Deliveries {
  /** After a commit: registrations, by number, that have something to do or were changed. */
  wake(webhookNos: readonly number[]): void
  figures(): Figures
  start(): Promise<void>
  stop(): Promise<void>
}

/** What is on its way when a node drains may take so long (§2.4). */
const DRAIN_LIMIT_MS = 10_000
/** Numbers in one message to other nodes; where there are more, they find them by looking. */
const TOLD_MAX = 500

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { db, log, settings } = deps
  let thread: EngineThread | undefined
  const wake = coalesced((nos) => {
    thread?.wake(nos)
    if (!db.dialect.shared) return
    db.notify(CHANNEL, textOf(nos.slice(0, TOLD_MAX))).catch((error: unknown) =>
      log.debug({ err: error }, 'other nodes were not told; they look by themselves'),
    )
  })
  return {
    wake,
    figures: () => thread?.figures() ?? NO_FIGURES,
    async start() {
      if (deps.delivers) thread = await startThread(settings, log)
    },
    async stop() {
      await thread?.stop(DRAIN_LIMIT_MS)
      thread = undefined
    },
  }
}

/** One message for all that is committed in a turn. */
function coalesced(tell: (nos: number[]) => void): (nos: readonly number[]) => void {
  let waiting: Set<number> | undefined
  return (nos) => {
    if (!waiting) {
      const fresh = (waiting = new Set<number>())
      setImmediate(() => {
        waiting = undefined
        tell([...fresh])
      })
    }
    for (const no of nos) waiting.add(no)
  }
}
