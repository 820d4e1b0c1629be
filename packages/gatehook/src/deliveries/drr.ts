/**
 * Deficit round robin over two levels (Shreedhar and Varghese, 1995): customers take turns, and
 * within a customer its endpoints do. Whoever has much, or large, waits for its own turns only.
 * Pure: it knows keys and costs, not deliveries.
 */

/**
 * Each turn is worth one small delivery. With more of them, customers whose turn ends early, for
 * want of a place, drift apart, and their rows, made together, are written in commits far apart:
 * for 100 customers that was a third of all work.
 */
const QUANTUM = 1

/** One in a ring of those that have something to send. */
interface Seat<T> {
  readonly value: T
  deficit: number
}

/** One level: `turn` gives whoever may be served now. */
class Ring<T> {
  #seats: Seat<T>[] = []
  readonly #seated = new Map<T, Seat<T>>()
  #at = 0

  get size(): number {
    return this.#seated.size
  }

  add(value: T): void {
    if (this.#seated.has(value)) return
    const seat = { value, deficit: 0 }
    this.#seated.set(value, seat)
    // Behind the one whose turn it is: a newcomer is served at the end of this round.
    this.#seats.splice(this.#at, 0, seat)
    this.#at += this.#seats.length > 1 ? 1 : 0
  }

  remove(value: T): void {
    const seat = this.#seated.get(value)
    if (!seat) return
    this.#seated.delete(value)
    const index = this.#seats.indexOf(seat)
    this.#seats.splice(index, 1)
    if (index < this.#at) this.#at -= 1
    else if (index === this.#at) this.#begin(index)
  }

  /** The one whose turn it is, with enough saved up for `cost`; undefined when nobody is here. */
  turn(cost: (value: T) => number): T | undefined {
    while (this.#seats.length > 0) {
      const seat = this.#seats[this.#at]!
      if (seat.deficit >= cost(seat.value)) return seat.value
      this.#pass()
    }
    return undefined
  }

  /** What `value` took from its savings. */
  spend(value: T, cost: number): void {
    const seat = this.#seated.get(value)
    if (seat) seat.deficit -= cost
  }

  /** The next one's turn, with a fresh quantum. */
  #pass(): void {
    this.#begin(this.#at + 1)
  }

  #begin(at: number): void {
    this.#at = at < this.#seats.length ? at : 0
    const seat = this.#seats[this.#at]
    if (seat) seat.deficit += QUANTUM
  }
}

export interface Queued {
  readonly customer: number
  /** What its next delivery costs; at least 1. */
  readonly cost: number
}

export class Fairness<E extends Queued> {
  readonly #customers = new Ring<number>()
  readonly #endpoints = new Map<number, Ring<E>>()

  /** `endpoint` has something to send and may send it. */
  add(endpoint: E): void {
    let ring = this.#endpoints.get(endpoint.customer)
    if (!ring) this.#endpoints.set(endpoint.customer, (ring = new Ring<E>()))
    ring.add(endpoint)
    this.#customers.add(endpoint.customer)
  }

  remove(endpoint: E): void {
    const ring = this.#endpoints.get(endpoint.customer)
    ring?.remove(endpoint)
    if (ring?.size === 0) this.removeCustomer(endpoint.customer)
  }

  /** All its endpoints at once: it has no tokens, or its share of the sockets is in use. */
  removeCustomer(customer: number): void {
    this.#endpoints.delete(customer)
    this.#customers.remove(customer)
  }

  /**
   * Whose turn it is. The caller either serves it (`served`) or removes it: else it stays its turn.
   */
  next(): E | undefined {
    const customer = this.#customers.turn((one) => this.#front(one).cost)
    return customer === undefined ? undefined : this.#front(customer)
  }

  served(endpoint: E, cost: number): void {
    this.#customers.spend(endpoint.customer, cost)
    this.#endpoints.get(endpoint.customer)?.spend(endpoint, cost)
  }

  #front(customer: number): E {
    return this.#endpoints.get(customer)!.turn((endpoint) => endpoint.cost)!
  }
}
