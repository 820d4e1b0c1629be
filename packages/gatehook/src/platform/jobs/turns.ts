/**
 * Selects the due jobs that a node starts next. Customers take turns when more jobs are due than
 * the node can start: the backlog of one customer delays its own jobs, not those of others.
 */
import type { Reader } from '../storage/database.ts'
import type { DueJob } from './job.ts'
import { type DueJobQuery, readDueJobs, readJobsOf, readTurns } from './store.ts'

/** Customers with waiting jobs that one pass looks at; the next pass continues after them. */
const TURNS_MAX = 200
/** The position before the first turn. Recurring jobs, which have no customer, have turn 0. */
const FIRST_TURN = -1

/** The turns of one node. */
export class JobTurns {
  readonly #turnsMax: number
  /** The customer and mode whose turn was last. */
  #position = FIRST_TURN

  constructor(turnsMax = TURNS_MAX) {
    this.#turnsMax = turnsMax
  }

  /** Returns at most `limit` due jobs: one of each customer in turn, then the longest due. */
  async select(from: Reader, query: DueJobQuery): Promise<DueJob[]> {
    const { nos, sawAll } = await this.#takeTurns(from, query)
    if (nos.size === 0 && sawAll) {
      this.#position = FIRST_TURN
      return []
    }
    const inTurn = nos.size === 0 ? [] : await readJobsOf(from, [...nos])
    if (nos.size === query.limit) return inTurn
    const oldest = await readDueJobs(from, query)
    return [...inTurn, ...oldest.filter(({ no }) => !nos.has(no))].slice(0, query.limit)
  }

  /** Returns the first due jobs of the customers after the position, and moves the position. */
  async #takeTurns(from: Reader, query: DueJobQuery) {
    const nos = new Set<number>()
    let left = this.#turnsMax
    for (const after of new Set([this.#position, FIRST_TURN])) {
      const turns = await readTurns(from, query, { after, limit: left })
      for (const { customer_scope, no } of turns) {
        this.#position = customer_scope
        if (no !== null) nos.add(no)
        if (nos.size === query.limit) return { nos, sawAll: false }
      }
      left -= turns.length
      if (left === 0) return { nos, sawAll: false }
    }
    return { nos, sawAll: true }
  }
}
