/**
 * The connections of PostgreSQL for transactions, by customer. A transaction can wait for a row
 * that another one has locked, or take long, and has its connection meanwhile. So a customer uses a
 * part of the connections, whatever its groups of callers, and customers that wait take turns
 * (decision 0068). Contains no SQL.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { createGroupTurns } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { LockWait } from './lock-wait.ts'
import { isLockTimeout, isTimeout, LockWaitError } from './postgres-errors.ts'
import { storageUnavailable } from './transaction.ts'

/** The part of the connections that the transactions of one customer use at once. */
const CUSTOMER_PART = 0.6
/** The part that stays free for the engine itself: sign-ins, request limits, background work. */
const ENGINE_PART = 0.2
/** Transactions of a group of callers that wait; further ones are rejected with 503. */
const WAITING_MAX = 10_000
/** Customers whose last lock timed out that the process remembers. */
const STALLS_MAX = 1_000

/** How many connections transactions of customers use at once: of all customers, and of one. */
export function connectionShares(size: number): {
  readonly customers: number
  readonly customer: number
} {
  const customers = size - Math.floor(size * ENGINE_PART)
  const customer = Math.min(Math.ceil(size * CUSTOMER_PART), customers - 1)
  return { customers, customer: Math.max(1, customer) }
}

/**
 * Runs `body` when it is the turn of the customer; that of the engine itself runs at once. Adds the
 * time until then to `wait`. Throws instead if it is over and locks of others are the reason:
 * another transaction of the customer has waited for a lock in vain meanwhile.
 */
export interface TakeConnection {
  <T>(customer: TurnKey | undefined, wait: LockWait, body: () => Promise<T>): Promise<T>
  /** Returns the number of customers whose next transaction waits for connections of others. */
  waitingCount(): number
}

export function createConnectionTurns(
  size: number,
  clock: Pick<Clock, 'elapsedMs'>,
): TakeConnection {
  const { customers, customer: perKey } = connectionShares(size)
  const turns = createGroupTurns(customers, { perKey, waitingPerKey: WAITING_MAX })
  const stalls = new BoundedMap<TurnKey, Stall>(STALLS_MAX)
  const take = <T>(customer: TurnKey | undefined, wait: LockWait, body: () => Promise<T>) => {
    if (customer === undefined) return body()
    const sinceMs = clock.elapsedMs()
    const startMs = sinceMs - wait.waitedMs
    return turns(customer, async () => {
      wait.findReason = () => {
        const stall = stalls.get(customer)
        if (!stall || stall.atMs <= startMs) return undefined
        return storageUnavailable(detailOf(stall.failure))
      }
      wait.add(clock.elapsedMs() - sinceMs)
      wait.refuseIfOver()
      try {
        return await body()
      } catch (error) {
        const isEnded = wait.isCancelled && isTimeout(error)
        const failure = isEnded ? storageUnavailable(new LockWaitError()) : error
        if (isLockTimeout(failure)) stalls.set(customer, { atMs: clock.elapsedMs(), failure })
        throw failure
      }
    })
  }
  return Object.assign(take, { waitingCount: turns.waitingCount })
}

/** When a transaction of a customer last waited for a lock in vain. */
interface Stall {
  readonly atMs: number
  readonly failure: unknown
}

const detailOf = (error: unknown): unknown => (error instanceof Failure ? error.detail : error)
