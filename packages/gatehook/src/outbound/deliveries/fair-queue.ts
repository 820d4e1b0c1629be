/**
 * Deficit round robin on three levels (Shreedhar and Varghese, 1995): customers take turns, within
 * a customer its scopes (live and test mode) do, and within a scope its endpoints. So a long queue,
 * or large bodies, delay only their own endpoint. Pure: the queue works with keys and costs.
 */

/**
 * A turn is worth one small delivery. With larger turns, customers that run out of slots early
 * drift apart. Rows that were inserted together are then updated in commits far apart: for 100
 * customers that was a third of all work.
 */
const QUANTUM = 1

interface QueueEntry<M> {
  readonly member: M
  deficit: number
}

/** One level: the members that have something to send, in a circle. */
class RoundRobin<M> {
  readonly #costOf: (member: M) => number
  readonly #entries: QueueEntry<M>[] = []
  readonly #byMember = new Map<M, QueueEntry<M>>()
  #current = 0

  /** @param costOf returns the cost of the next delivery of a member. */
  constructor(costOf: (member: M) => number) {
    this.#costOf = costOf
  }

  get size(): number {
    return this.#byMember.size
  }

  add(member: M): void {
    if (this.#byMember.has(member)) return
    const entry = { member, deficit: 0 }
    this.#byMember.set(member, entry)
    // Before the current entry: a new member is served at the end of this round.
    this.#entries.splice(this.#current, 0, entry)
    this.#current += this.#entries.length > 1 ? 1 : 0
  }

  remove(member: M): void {
    const entry = this.#byMember.get(member)
    if (!entry) return
    this.#byMember.delete(member)
    const index = this.#entries.indexOf(entry)
    this.#entries.splice(index, 1)
    if (index < this.#current) this.#current -= 1
    else if (index === this.#current) this.#startTurn(index)
  }

  /** Returns the member whose deficit covers its cost; undefined when there is no member. */
  next(): M | undefined {
    while (this.#entries.length > 0) {
      const entry = this.#entries[this.#current]!
      if (entry.deficit >= this.#costOf(entry.member)) return entry.member
      this.#startTurn(this.#current + 1)
    }
    return undefined
  }

  charge(member: M, cost: number): void {
    const entry = this.#byMember.get(member)
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
  /** The customer with the mode. */
  readonly scope: number
  /** The cost of its next delivery; at least 1. */
  readonly cost: number
}

type Endpoints<E> = RoundRobin<E>
type Scopes<E> = RoundRobin<Endpoints<E>>

const costOfEndpoint = ({ cost }: Queued): number => cost
const costOfScope = <E extends Queued>(endpoints: Endpoints<E>): number => endpoints.next()!.cost
const costOfCustomer = <E extends Queued>(scopes: Scopes<E>): number => costOfScope(scopes.next()!)

export class FairQueue<E extends Queued> {
  /** Those with endpoints, without the blocked ones. */
  readonly #customers = new RoundRobin<Scopes<E>>(costOfCustomer)
  readonly #byCustomer = new Map<number, Scopes<E>>()
  readonly #byScope = new Map<number, Endpoints<E>>()
  readonly #blocked = new Set<number>()

  /** Adds an endpoint that has a delivery to send and may send it. */
  add(endpoint: E): void {
    const { customer, scope } = endpoint
    let scopes = this.#byCustomer.get(customer)
    if (!scopes) {
      scopes = new RoundRobin<Endpoints<E>>(costOfScope)
      this.#byCustomer.set(customer, scopes)
    }
    let endpoints = this.#byScope.get(scope)
    if (!endpoints) this.#byScope.set(scope, (endpoints = new RoundRobin<E>(costOfEndpoint)))
    endpoints.add(endpoint)
    scopes.add(endpoints)
    if (!this.#blocked.has(customer)) this.#customers.add(scopes)
  }

  remove(endpoint: E): void {
    const { customer, scope } = endpoint
    const endpoints = this.#byScope.get(scope)
    if (!endpoints) return
    endpoints.remove(endpoint)
    if (endpoints.size > 0) return
    const scopes = this.#byCustomer.get(customer)!
    scopes.remove(endpoints)
    this.#byScope.delete(scope)
    if (scopes.size > 0) return
    this.#customers.remove(scopes)
    this.#byCustomer.delete(customer)
  }

  /** Serves no endpoint of a customer until `unblock`. Their order and deficits stay. */
  block(customer: number): void {
    this.#blocked.add(customer)
    const scopes = this.#byCustomer.get(customer)
    if (scopes) this.#customers.remove(scopes)
  }

  unblock(customer: number): void {
    if (!this.#blocked.delete(customer)) return
    const scopes = this.#byCustomer.get(customer)
    if (scopes) this.#customers.add(scopes)
  }

  unblockAll(): void {
    for (const customer of this.#blocked) this.unblock(customer)
  }

  /** Returns the endpoint to serve. The caller charges it, removes it, or blocks its customer. */
  next(): E | undefined {
    return this.#customers.next()?.next()?.next()
  }

  charge(endpoint: E, cost: number): void {
    const scopes = this.#byCustomer.get(endpoint.customer)
    const endpoints = this.#byScope.get(endpoint.scope)
    if (!scopes || !endpoints) return
    this.#customers.charge(scopes, cost)
    scopes.charge(endpoints, cost)
    endpoints.charge(endpoint, cost)
  }
}
