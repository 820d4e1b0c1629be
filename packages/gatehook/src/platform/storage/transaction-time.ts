/** The instant of a transaction: all of its rows have the same, and so has own code in it. */
import type { Clock } from '../../kernel/clock.ts'
import type { Tx } from './database.ts'

const TIME = Symbol('time')

interface TimedTx extends Tx {
  [TIME]?: number
}

/** Returns the instant of a transaction in epoch milliseconds: that of the first call. */
export function timeOf(tx: Tx, clock: Clock): number {
  const own: TimedTx = tx
  return (own[TIME] ??= clock.now())
}

/** Sets the instant of the rows that follow, for sample rows of several days. */
export function setTimeOf(tx: Tx, nowMs: number): void {
  const own: TimedTx = tx
  own[TIME] = nowMs
}
