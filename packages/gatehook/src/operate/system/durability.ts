/**
 * Whether the database still waits for a synchronous standby, which `GATEHOOK_DURABILITY=replica`
 * promises (§18.3), and whether one confirms. Each commit verifies the former, too
 * (`platform/storage/postgres-session.ts`); the poll of the node informs operators before the next
 * write.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  type DurabilityFault,
  durabilityFaultOf,
  durabilityFaults,
} from '../../platform/storage/server-check.ts'
import { writeSetting } from '../../platform/storage/settings.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { TableState } from '../../platform/storage/table-state.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

interface Durability {
  /** Reads the state of the server with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Says that the node is not ready for writes. */
  readonly check: HealthCheck
  readonly metric: Metric
}

interface DurabilityOptions {
  readonly db: Pick<Database, 'name' | 'write'>
  readonly clock: Clock
  readonly durability: DatabaseTarget['durability']
  readonly tables: Pick<TableState, 'unlogged'>
  readonly log: Log
}

export function createDurability(options: DurabilityOptions): Durability {
  const { db, durability, log, tables } = options
  const isConfirmed = createTrial(options)
  let fault: DurabilityFault | undefined
  const state = durability === 'replica' ? durabilityFaultOf(db) : undefined
  /** The check of the tables has logged their names. */
  const present = () => fault ?? (state && tables.unlogged.length > 0 ? 'unlogged' : undefined)
  const receive: PolledValue['receive'] = (name) => {
    if (name === null) return // of a standby, which serves reads
    const former = fault
    const isNone = name === '' || (name === 'unconfirmed' && isConfirmed())
    fault = isNone ? undefined : (name as DurabilityFault)
    if (fault && fault !== former) log.error(durabilityFaults[fault].advice)
    if (former && !fault) log.info('a synchronous standby of the database confirms commits again')
  }
  return {
    polled: state ? [{ select: () => state, receive }] : [],
    check() {
      const current = present()
      if (!current) return undefined
      const { message, advice } = durabilityFaults[current]
      return { message, detail: advice }
    },
    metric: gauge(
      'gatehook_durability_lost',
      '1 while GATEHOOK_DURABILITY is replica and no synchronous standby confirms commits.',
      () => (present() ? 1 : 0),
    ),
  }
}

/**
 * Returns a function that starts a commit, unless one runs, and says whether the one before was
 * confirmed; true for the first one. A commit that waits while a later one is confirmed belongs to
 * a session of the server that hangs.
 */
function createTrial({ db, clock }: Pick<DurabilityOptions, 'db' | 'clock'>): () => boolean {
  let isConfirmed = true
  let isRunning = false
  const write = () =>
    db
      .write((tx) => writeSetting(tx, 'last_trial', clock.now()), { single: true })
      .then(
        () => true,
        () => false,
      )
  return () => {
    const result = isConfirmed && !isRunning
    if (!isRunning) {
      isRunning = true
      void write().then((confirmed) => {
        isConfirmed = confirmed
        isRunning = false
      })
    }
    return result
  }
}
