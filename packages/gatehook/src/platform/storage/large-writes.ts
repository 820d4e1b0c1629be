/**
 * The large changes of a customer on PostgreSQL, whose server does the work of all customers with
 * one priority (§11.5). Beside others they run one at a time, and the customer's next one with a
 * large body rests after each. Contains no SQL.
 */
import { createGroupTurns, customerOfGroup } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { BESIDE_OTHERS } from '../../kernel/pace.ts'
import { createShare } from '../../kernel/share.ts'
import type { Rests, TurnKey } from '../../kernel/turns.ts'
import { budgetOf, type ChangeBudget } from './change-budget.ts'
import type { Database, Tx } from './database.ts'

/** The work of the largest change: 20,000 words, 8 MiB. */
const LARGEST_MS = 250

/** Receives the handle of a run: the last one is that of the change. */
type NoteTx = (tx: Tx) => Tx

export interface LargeWrites {
  /** Runs `write`, in the turn of the customer if the change is large. */
  run(write: Database['write']): Database['write']
  /** Resolves when those in turns have ended. */
  finished(): Promise<unknown>
}

export function createLargeWrites(
  clock: Pick<Clock, 'elapsedMs'>,
  after: Rests['after'],
): LargeWrites {
  const share = createShare({ clock, ...BESIDE_OTHERS })
  // The work is that of the budget, not the time until a lock is free.
  const rests: Rests = { clock, after, restMs: share.restMs, addWork: () => 0 }
  const takeTurn = createGroupTurns(Number.POSITIVE_INFINITY, { rests })
  const inTurns = new Set<Promise<unknown>>()
  /** Adds the work of a change to the share of its customer. */
  const count = async <T>(customer: TurnKey, body: (note: NoteTx) => Promise<T>): Promise<T> => {
    const startMs = clock.elapsedMs()
    let budget: ChangeBudget | undefined
    const note: NoteTx = (tx) => {
      budget = budgetOf(tx)
      return tx
    }
    try {
      return await body(note)
    } finally {
      if (budget?.isLarge) {
        const workMs = Math.min(budget.part * LARGEST_MS, clock.elapsedMs() - startMs)
        share.addWork(customer, workMs)
      }
    }
  }
  return {
    run: (write) => async (change, options) => {
      const { customer: group, isLarge } = options ?? {}
      if (group === undefined) return write(change, options)
      const customer = customerOfGroup(group)
      if (!isLarge) share.note(customer)
      const body = () => count(customer, (note) => write((tx) => change(note(tx)), options))
      if (!isLarge || share.isAlone(customer)) return body()
      const running = takeTurn(group, body)
      inTurns.add(running)
      return running.finally(() => inTurns.delete(running))
    },
    finished: () => Promise.allSettled(inTurns),
  }
}
