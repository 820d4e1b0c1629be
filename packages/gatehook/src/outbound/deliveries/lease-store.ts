/**
 * SQL of the leases on PostgreSQL; `shared-leases.ts` decides when each statement runs. A node that
 * is not registered can hold nothing: a lease is written in a transaction that locks the row of its
 * node, and the row of a node is deleted before its leases.
 */
import type { Database, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'

export interface DeliveryNode {
  readonly id: string
  /** The heartbeat counter. */
  readonly heartbeat: number
  /** Customers that it holds. */
  readonly customers: number
}

/** The leases as of one instant. */
interface LeaseState {
  /** All registered nodes, this one included. */
  readonly nodes: readonly DeliveryNode[]
  /** The customers of this node; undefined: those that it knows to hold. */
  readonly customers: readonly number[] | undefined
}

export interface Handover {
  readonly customer: number
  /** The node that gets it. */
  readonly target: string
}

export interface LeaseStore {
  /**
   * Increments the counter of this node and reads the leases, in one round trip. `held`: customers
   * that this node knows to hold. Undefined: the node is not registered.
   */
  heartbeat(node: string, held: ReadonlySet<number>): Promise<LeaseState | undefined>
  register(node: string): Promise<void>
  /** Takes those of the customers that no node holds, and returns them. */
  take(node: string, customers: readonly number[]): Promise<number[]>
  /** Assigns customers of this node to others; leaves those whose target is not registered. */
  hand(node: string, handovers: readonly Handover[]): Promise<void>
  /** Removes nodes, and frees their customers. */
  remove(nodes: readonly string[]): Promise<void>
}

/**
 * Number and sum distinguish the held customers from others, so that a node with many does not read
 * them each time. Texts instead of rows: the increment and all reads are one statement on one
 * snapshot.
 */
const beatOf = prepareStatement(`UPDATE gh_delivery_nodes
  SET heartbeat = heartbeat + 1 WHERE id = ?
  RETURNING
    (SELECT string_agg(n.id || ' ' || n.heartbeat || ' ' ||
        (SELECT COUNT(*) FROM gh_delivery_leases l WHERE l.node = n.id), ',')
      FROM gh_delivery_nodes n),
    (SELECT CASE WHEN COUNT(*) <> ? OR COALESCE(SUM(customer_no), 0) <> CAST(? AS BIGINT)
      THEN COALESCE(string_agg(CAST(customer_no AS TEXT), ','), '')
      END FROM gh_delivery_leases WHERE node = ?)`)

export function createLeaseStore(db: Database): LeaseStore {
  return {
    async heartbeat(node, held) {
      const sum = [...held].reduce((total, customer) => total + customer, 0)
      const heartbeat = beatOf([node, held.size, sum, node])
      const [row] = await db.write((tx) => tx.arrays(heartbeat), { single: true })
      if (!row) return undefined
      const [nodes, customers] = row as [string, string | null]
      return { nodes: parseNodes(nodes), customers: parseNumbers(customers) }
    },
    async register(node) {
      await db.write(async (tx) => {
        await tx.run(sql`INSERT INTO gh_delivery_nodes (id, heartbeat) VALUES (${node}, 1)`)
        await freeOrphans(tx)
      })
    },
    async take(node, customers) {
      const sorted = [...customers].sort((a, b) => a - b)
      const insert = (tx: Tx) => [
        tx.hold(sql`SELECT id FROM gh_delivery_nodes WHERE id = ${node}`),
        ...sorted.map((customer) =>
          tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node)
            SELECT CAST(${customer} AS BIGINT), id FROM gh_delivery_nodes WHERE id = ${node}
            ON CONFLICT (customer_no) DO NOTHING`),
        ),
      ]
      const [, ...counts] = await db.write((tx) => Promise.all(insert(tx)), { single: true })
      return sorted.filter((_, index) => counts[index] === 1)
    },
    async hand(node, handovers) {
      const targets = [...new Set(handovers.map(({ target }) => target))].sort()
      const move = (tx: Tx) => [
        ...targets.map((id) => tx.hold(sql`SELECT id FROM gh_delivery_nodes WHERE id = ${id}`)),
        ...handovers.map(({ customer, target }) =>
          tx.run(sql`UPDATE gh_delivery_leases SET node = ${target}
            WHERE customer_no = ${customer} AND node = ${node}
            AND EXISTS (SELECT 1 FROM gh_delivery_nodes WHERE id = ${target})`),
        ),
      ]
      await db.write((tx) => Promise.all(move(tx)), { single: true })
    },
    async remove(nodes) {
      await db.write(async (tx) => {
        for (const node of [...nodes].sort()) {
          await tx.run(sql`DELETE FROM gh_delivery_nodes WHERE id = ${node}`)
        }
        await freeOrphans(tx)
      })
    },
  }
}

/** Frees what nodes that are not registered hold. */
async function freeOrphans(tx: Tx): Promise<void> {
  await tx.run(sql`DELETE FROM gh_delivery_leases
    WHERE node NOT IN (SELECT id FROM gh_delivery_nodes)`)
}

const parseNodes = (text: string): DeliveryNode[] =>
  text.split(',').map((words) => {
    const [id = '', ...numbers] = words.split(' ')
    const [heartbeat = 0, customers = 0] = numbers.map(Number)
    return { id, heartbeat, customers }
  })

function parseNumbers(text: string | null): number[] | undefined {
  if (text === null) return undefined
  return text === '' ? [] : text.split(',').map(Number)
}
