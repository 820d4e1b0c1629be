/**
 * Deficit round robin on two levels (Shreedhar and Varghese, 1995): customers take turns, and
 * within a customer its endpoints do. A long queue, or large bodies, delay only their own customer.
 * Pure: the queue works with keys and costs.
 */

/**
 * A turn is worth one small delivery. With larger turns, customers that run out of slots early
 * drift apart. Rows that were inserted together are then updated in commits far apart: for 100
 * customers that was a third of all work.
 */
const QUANTUM = 1

interface QueueEntry<T> {
  readonly value: T
  deficit: number
}

/** One level: the members that have something to send, in a circle. */
class RoundRobin<T> {
  #entries: QueueEntry<T>[] = []
  readonly #byValue = new Map<T, QueueEntry<T>>()
  #current = 0

  get size(): number {
    return this.#byValue.size
  }

  add(value: T): void {
    if (this.#byValue.has(value)) return
    const entry = { value, deficit: 0 }
    this.#byValue.set(value, entry)
    // Before the current entry: a new member is served at the end of this round.
    this.#entries.splice(this.#current, 0, entry)
    this.#current += this.#entries.length > 1 ? 1 : 0
  }

  remove(value: T): void {
    const entry = this.#byValue.get(value)
    if (!entry) return
    this.#byValue.delete(value)
    const index = this.#entries.indexOf(entry)
    this.#entries.splice(index, 1)
    if (index < this.#current) this.#current -= 1
    else if (index === this.#current) this.#startTurn(index)
  }

  /** Returns the member whose deficit covers its cost; undefined when there is no member. */
  next(costOf: (value: T) => number): T | undefined {
    while (this.#entries.length > 0) {
      const entry = this.#entries[this.#current]!
      if (entry.deficit >= costOf(entry.value)) return entry.value
      this.#startTurn(this.#current + 1)
    }
    return undefined
  }

  charge(value: T, cost: number): void {
    const entry = this.#byValue.get(value)
    if (entry) entry.deficit -= cost
  }

  #startTurn(index: number): void {
    this.#current = index < this.#entries.length ? index : 0
    const entry = this.#entries[this.#current]
    if (entry) entry.deficit += QUANTUM
  }
}

export interface Queued {
  readonly customer: number
  /** The cost of its next delivery; at least 1. */
  readonly cost: number
}

export class FairQueue<E extends Queued> {
  readonly #customers = new RoundRobin<number>()
  readonly #endpoints = new Map<number, RoundRobin<E>>()

  get isEmpty(): boolean {
    return this.#customers.size === 0
  }

  /** Adds an endpoint that has a delivery to send and may send it. */
  add(endpoint: E): void {
    let endpoints = this.#endpoints.get(endpoint.customer)
    if (!endpoints) this.#endpoints.set(endpoint.customer, (endpoints = new RoundRobin<E>()))
    endpoints.add(endpoint)
    this.#customers.add(endpoint.customer)
  }

  remove(endpoint: E): void {
    const endpoints = this.#endpoints.get(endpoint.customer)
    endpoints?.remove(endpoint)
    if (endpoints?.size === 0) this.removeCustomer(endpoint.customer)
  }

  removeCustomer(customer: number): void {
    this.#endpoints.delete(customer)
    this.#customers.remove(customer)
  }

  /** Returns the endpoint to serve. The caller then either charges it or removes it. */
  next(): E | undefined {
    const customer = this.#customers.next((no) => this.#nextOf(no).cost)
    return customer === undefined ? undefined : this.#nextOf(customer)
  }

  charge(endpoint: E, cost: number): void {
    this.#customers.charge(endpoint.customer, cost)
    this.#endpoints.get(endpoint.customer)?.charge(endpoint, cost)
  }

  #nextOf(customer: number): E {
    return this.#endpoints.get(customer)!.next((endpoint) => endpoint.cost)!
  }
}
