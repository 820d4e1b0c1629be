/** The leases of simulated nodes in memory, instead of tables. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isSamePart, type PartLease } from '../../src/outbound/deliveries/customer-parts.ts'
import type { LeaseStore } from '../../src/outbound/deliveries/lease-store.ts'

/** Lets some turns of the event loop pass, as a round trip does. */
type Delay = () => Promise<void>

export class MemoryLeases implements LeaseStore {
  readonly nodes = new Map<string, number>()
  /** The node of each customer. */
  readonly leases = new Map<number, string>()
  parts: PartLease[] = []
  readonly #loads = new Map<string, number>()
  /** Before a statement takes effect, and before its result arrives. */
  delay: Delay = nextTurn

  async #run<T>(statement: () => T): Promise<T> {
    await this.delay()
    const result = statement()
    await this.delay()
    return result
  }

  heartbeat: LeaseStore['heartbeat'] = (node, cached, load) =>
    this.#run(() => {
      const heartbeat = this.nodes.get(node)
      if (heartbeat === undefined) return undefined
      this.nodes.set(node, heartbeat + 1)
      this.#loads.set(node, load)
      const customersOf = (id: string) =>
        [...this.leases].flatMap(([customer, holder]) => (holder === id ? [customer] : []))
      const held = customersOf(node)
      return {
        nodes: [...this.nodes].map(([id, value]) => ({
          id,
          heartbeat: value,
          customers: customersOf(id).length,
          load: this.#loads.get(id) ?? 0,
        })),
        customers: cached.symmetricDifference(new Set(held)).size === 0 ? undefined : held,
        parts: this.parts.map((part) => ({ ...part, holder: this.leases.get(part.customer) })),
      }
    })

  register: LeaseStore['register'] = (node) => this.#run(() => void this.nodes.set(node, 1))

  take: LeaseStore['take'] = (node, customers) =>
    this.#run(() => {
      if (!this.nodes.has(node)) return []
      const free = customers.filter((customer) => !this.leases.has(customer))
      for (const customer of free) this.leases.set(customer, node)
      return free
    })

  hand: LeaseStore['hand'] = (node, handovers) =>
    this.#run(() => {
      for (const { customer, target } of handovers) {
        const isOwn = this.leases.get(customer) === node
        if (isOwn && this.nodes.has(target)) this.leases.set(customer, target)
      }
    })

  movePart: LeaseStore['movePart'] = (node, { customer, modulus, residue, target }) =>
    this.#run(() => {
      const part = { customer, modulus, residue }
      const row = this.parts.find((other) => isSamePart(other, part))
      if (target === undefined) {
        this.parts = this.parts.filter((other) => other !== row || other.node !== node)
        return
      }
      const isOwn =
        this.leases.get(part.customer) === node ||
        this.parts.some((other) => other.customer === part.customer && other.node === node)
      if (row || !isOwn || !this.nodes.has(node) || !this.nodes.has(target)) return
      this.parts.push({ ...part, node: target, holder: undefined })
    })

  remove: LeaseStore['remove'] = (nodes) =>
    this.#run(() => {
      for (const node of nodes) this.nodes.delete(node)
      for (const [customer, node] of this.leases) {
        if (!this.nodes.has(node)) this.leases.delete(customer)
      }
      this.parts = this.parts.filter(({ node }) => this.nodes.has(node))
    })
}
