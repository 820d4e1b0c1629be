/** The leases of simulated nodes in memory, instead of tables. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LeaseStore } from '../../src/platform/nodes/lease-store.ts'

/** Lets some turns of the event loop pass, as a round trip does. */
type Delay = () => Promise<void>

export class MemoryLeases implements LeaseStore {
  readonly nodes = new Map<string, number>()
  /** The node of each customer. */
  readonly leases = new Map<number, string>()
  /** Before a statement takes effect, and before its result arrives. */
  delay: Delay = nextTurn

  async #run<T>(statement: () => T): Promise<T> {
    await this.delay()
    const result = statement()
    await this.delay()
    return result
  }

  heartbeat: LeaseStore['heartbeat'] = (node, cached) =>
    this.#run(() => {
      const heartbeat = this.nodes.get(node)
      if (heartbeat === undefined) return undefined
      this.nodes.set(node, heartbeat + 1)
      const customersOf = (id: string) =>
        [...this.leases].flatMap(([customer, holder]) => (holder === id ? [customer] : []))
      const held = customersOf(node)
      return {
        nodes: [...this.nodes].map(([id, value]) => ({
          id,
          heartbeat: value,
          customers: customersOf(id).length,
        })),
        customers: cached.symmetricDifference(new Set(held)).size === 0 ? undefined : held,
      }
    })

  join: LeaseStore['join'] = (node) => this.#run(() => void this.nodes.set(node, 1))

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

  remove: LeaseStore['remove'] = (nodes) =>
    this.#run(() => {
      for (const node of nodes) this.nodes.delete(node)
      for (const [customer, node] of this.leases) {
        if (!this.nodes.has(node)) this.leases.delete(customer)
      }
    })
}
