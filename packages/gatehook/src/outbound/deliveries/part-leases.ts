/** Which parts of customers this node serves, as it last read them, with its own later changes. */
import {
  type CustomerPart,
  findPart,
  includesEndpoint,
  isSamePart,
  MODULUS_MAX,
  type PartLease,
} from './customer-parts.ts'

/** A part that starts no attempt, and moves once it has none in flight. */
export interface LeavingPart extends CustomerPart {
  /** The node that gets it; undefined: that which holds the customer. */
  readonly target: string | undefined
  readonly sinceMs: number
}

export class PartLeases {
  leaving: readonly LeavingPart[] = []
  readonly #node: string
  #rows: readonly PartLease[] = []
  #byCustomer = new Map<number, PartLease[]>()
  /** Parts that this node moved since the current heartbeat began to read. */
  #moved: LeavingPart[] = []

  constructor(node: string) {
    this.#node = node
  }

  get rows(): readonly PartLease[] {
    return this.#rows
  }

  get ownRows(): readonly PartLease[] {
    return this.#rows.filter(({ node }) => node === this.#node)
  }

  /** Whether a customer has parts that were leased, or leave. */
  isSplit(customer: number): boolean {
    return this.#byCustomer.has(customer) || this.leaving.some((part) => part.customer === customer)
  }

  /** Whether this node serves an endpoint. `isHolder`: it holds the customer. */
  serves(customer: number, endpoint: number, isHolder: boolean): boolean {
    const parts = this.#byCustomer.get(customer)
    const part = parts && findPart(parts, endpoint)
    const isOwn = part ? part.node === this.#node : isHolder
    if (!isOwn || this.leaving.length === 0) return isOwn
    return !this.leaving.some(
      (other) => other.customer === customer && includesEndpoint(other, endpoint),
    )
  }

  /** Returns the part of a customer's rate that belongs to this node, 0 to 1. */
  shareOf(customer: number, isHolder: boolean): number {
    if (!this.isSplit(customer)) return 1
    let count = 0
    for (let residue = 0; residue < MODULUS_MAX; residue++) {
      if (this.serves(customer, residue, isHolder)) count += 1
    }
    return count / MODULUS_MAX
  }

  beginRead(): void {
    this.#moved = []
  }

  /** Applies the rows that a heartbeat read. Returns whether they have changed. */
  apply(rows: readonly PartLease[]): boolean {
    let next = rows
    for (const part of this.#moved) next = withMove(next, part)
    const texts = (list: readonly PartLease[]) =>
      list.map(({ node, ...part }) => `${part.customer} ${part.modulus} ${part.residue} ${node}`)
    const hasChanged = texts(next).sort().join() !== texts(this.#rows).sort().join()
    this.#setRows(next)
    return hasChanged
  }

  /** Notes that a part has moved, or may have: the next heartbeat reads whether it has. */
  leave(part: LeavingPart): void {
    this.stay(part)
    this.#moved.push(part)
    this.#setRows(withMove(this.#rows, part))
  }

  stay(part: LeavingPart): void {
    this.leaving = this.leaving.filter((other) => other !== part)
  }

  clear(): void {
    this.leaving = []
    this.#setRows([])
  }

  #setRows(rows: readonly PartLease[]): void {
    this.#rows = rows
    this.#byCustomer = Map.groupBy(rows, ({ customer }) => customer)
  }
}

function withMove(rows: readonly PartLease[], part: LeavingPart): readonly PartLease[] {
  const others = rows.filter((row) => !isSamePart(row, part))
  const { customer, modulus, residue, target } = part
  if (target === undefined) return others
  return [...others, { customer, modulus, residue, node: target, holder: undefined }]
}
