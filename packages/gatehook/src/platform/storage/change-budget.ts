/**
 * The budget of one transaction (§11.5): rows of resources and events, deliveries of these, rows of
 * words, and bytes.
 * Every writer charges it before its statement. A savepoint that is rolled back returns nothing,
 * because its work was done.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Tx } from './database.ts'

/** Work of a change. */
export interface ChangeCost {
  /** Rows of resources, events, and jobs of own code. */
  readonly rows?: number
  /** Deliveries of events: each event has one for each registration that receives it. */
  readonly deliveries?: number
  /** Rows of the tables of words (§7.12). */
  readonly words?: number
  /** Bytes of the rows that it reads to delete them, of written values, of events, their bodies. */
  readonly bytes?: number
}

/** The largest change. */
export const CHANGE_BOUNDS = {
  rows: 5_000,
  deliveries: 20_000,
  words: 20_000,
  bytes: 8 * 1024 * 1024,
} as const satisfies Required<ChangeCost>

/** The part of a bound from which a change is large. */
const LARGE_PART = 0.1

const UNITS = {
  rows: '5,000 rows, events and jobs',
  deliveries: '20,000 deliveries of webhooks',
  words: '20,000 rows of words for the search',
  bytes: '8 MiB',
} as const satisfies Record<keyof ChangeCost, string>

const KINDS = ['rows', 'deliveries', 'words', 'bytes'] as const

export class ChangeBudget {
  readonly #bounds: Required<ChangeCost>
  readonly #spent = { rows: 0, deliveries: 0, words: 0, bytes: 0 }

  constructor(bounds: Required<ChangeCost> = CHANGE_BOUNDS) {
    this.#bounds = bounds
  }

  /** Throws `change_too_large` if the work does not fit; otherwise it counts. */
  charge(cost: ChangeCost): void {
    this.require(cost)
    for (const kind of KINDS) this.#spent[kind] += cost[kind] ?? 0
  }

  /**
   * Throws `change_too_large` if the work does not fit, without counting it. `advice`: a sentence
   * about the changes that fit.
   */
  require(cost: ChangeCost, advice?: string): void {
    const kind = KINDS.find((name) => (cost[name] ?? 0) > this.left(name))
    if (kind !== undefined) throw createChangeTooLarge(kind, advice)
  }

  /** Returns the work of a kind that still fits. */
  left(kind: keyof ChangeCost): number {
    return this.#bounds[kind] - this.#spent[kind]
  }

  /** The largest part of a bound that was charged: 1 for the largest change. */
  get part(): number {
    return Math.max(...KINDS.map((kind) => this.#spent[kind] / this.#bounds[kind]))
  }

  /** Whether the change counts as long work of its customer: a batch of 100 rows does not. */
  get isLarge(): boolean {
    return this.part >= LARGE_PART
  }
}

/** Creates the failure of a change beyond a bound. */
export const createChangeTooLarge = (
  kind: keyof ChangeCost,
  advice = 'Split it into several requests.',
): Failure =>
  new Failure(
    'change_too_large',
    `The change would write more than ${UNITS[kind]}, the most of one change. ${advice}`,
  )

const BUDGET = Symbol('budget')

interface BudgetedTx extends Tx {
  [BUDGET]?: ChangeBudget
}

/** Returns the budget of a transaction. */
export function budgetOf(tx: Tx): ChangeBudget {
  const own: BudgetedTx = tx
  return (own[BUDGET] ??= new ChangeBudget())
}

/** Removes the bounds of a transaction that no caller requests and that delays none: a seed. */
export function removeBudget(tx: Tx): void {
  const own: BudgetedTx = tx
  const rows = Number.POSITIVE_INFINITY
  own[BUDGET] = new ChangeBudget({ rows, deliveries: rows, words: rows, bytes: rows })
}

/** Returns the bytes of the texts among the values of a statement; others are a few bytes each. */
export function bytesOfValues(values: readonly unknown[]): number {
  let bytes = 0
  for (const value of values) if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}
