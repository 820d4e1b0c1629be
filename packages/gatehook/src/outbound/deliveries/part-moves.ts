/**
 * Decides when parts of customers move: to another node while one customer saturates this node, and
 * back when they are calm. Reads no clock and no table.
 */
import { includesEndpoint, isSamePart, planSplit } from './customer-parts.ts'
import type { DeliveryNode } from './lease-store.ts'
import type { PartLeases } from './part-leases.ts'
import type { NodeLoad } from './ports.ts'

/** A node is saturated when deliveries wait for it in half of the time, at this many heartbeats. */
const SATURATED_PART = 0.5
const SATURATED_BEATS = 2
/** A node takes a part while its load, in percent, is below. */
const FREE_PERCENT = 25
/** A part returns after so long with at most this many attempts a second. */
const CALM_MS = 60_000
const CALM_PER_S = 50

export class PartMoves {
  readonly #parts: PartLeases
  readonly #node: string
  readonly #shareOf: (customer: number) => number
  #saturatedBeats = 0
  #plannedMs = Number.NEGATIVE_INFINITY
  /** Since when each own part is calm, by its text. */
  #calmSinceMs = new Map<string, number>()

  constructor(parts: PartLeases, node: string, shareOf: (customer: number) => number) {
    this.#parts = parts
    this.#node = node
    this.#shareOf = shareOf
  }

  /** Begins the moves that are due at a heartbeat: parts that leave are in `PartLeases.leaving`. */
  plan(load: NodeLoad, others: readonly DeliveryNode[], nowMs: number): void {
    const passedMs = nowMs - this.#plannedMs
    this.#plannedMs = nowMs
    this.#planReturns(load, others, { nowMs, passedMs })
    const isSaturated = load.busyPart >= SATURATED_PART
    this.#saturatedBeats = isSaturated ? this.#saturatedBeats + 1 : 0
    if (this.#saturatedBeats < SATURATED_BEATS) return
    if (this.#parts.leaving.length > 0) return
    const free = others.filter((other) => other.load < FREE_PERCENT)
    const [target] = free.sort((a, b) => a.load - b.load || a.customers - b.customers)
    const part = target && planSplit(load, this.#parts.rows, this.#shareOf)
    if (!part) return
    this.#parts.leaving = [{ ...part, target: target.id, sinceMs: nowMs }]
    this.#saturatedBeats = 0
  }

  #planReturns(
    load: NodeLoad,
    others: readonly DeliveryNode[],
    { nowMs, passedMs }: Record<'nowMs' | 'passedMs', number>,
  ): void {
    const calmSinceMs = new Map<string, number>()
    for (const row of this.#parts.ownRows) {
      const key = `${row.customer} ${row.modulus} ${row.residue}`
      const entry = load.customers.find(({ customer }) => customer === row.customer)
      let starts = 0
      for (const [endpoint, count] of entry?.starts ?? []) {
        if (includesEndpoint(row, endpoint)) starts += count
      }
      const isCalm = starts <= (CALM_PER_S * passedMs) / 1_000
      const sinceMs = this.#calmSinceMs.get(key) ?? nowMs
      if (isCalm) calmSinceMs.set(key, sinceMs)
      const holder = others.find(({ id }) => id === row.holder)
      const isFree = holder !== undefined && holder.load < FREE_PERCENT
      const isDue = isCalm && nowMs - sinceMs >= CALM_MS && isFree
      // The holder of the customer serves this part, once it holds both.
      if (!isDue && row.holder !== this.#node) continue
      if (this.#parts.leaving.some((part) => isSamePart(part, row))) continue
      const { customer, modulus, residue } = row
      const part = { customer, modulus, residue, target: undefined, sinceMs: nowMs }
      this.#parts.leaving = [...this.#parts.leaving, part]
    }
    this.#calmSinceMs = calmSinceMs
  }
}
