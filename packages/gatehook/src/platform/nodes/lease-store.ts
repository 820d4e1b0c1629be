/**
 * SQL of the customers that nodes hold, and of the heartbeats of delivery engines; the leases of
 * `outbound/deliveries/` decide when each statement runs. An engine joins the node that its main
 * thread has registered. A node without a heartbeat can hold nothing: a lease is written in a
 * transaction that holds the row of its node, and a row loses its heartbeat under a lock that
 * excludes such transactions, before its leases are deleted.
 */
import type { Database, Tx } from '../storage/database.ts'
import { prepareStatement, type Sql, sql } from '../storage/sql.ts'

export interface DeliveryNode {
  readonly id: string
  /** The heartbeat counter. */
  readonly heartbeat: number
  /** Customers that it holds. */
  readonly customers: number
}

/** The leases as of one instant. */
interface LeaseState {
  /** All nodes with a heartbeat, this one included. */
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
   * that this node knows to hold. Undefined: the node has not joined, or others removed it.
   */
  heartbeat(node: string, held: ReadonlySet<number>): Promise<LeaseState | undefined>
  /** Begins the heartbeat of a registered node. */
  join(node: string): Promise<void>
  /** Takes those of the customers that no node holds, and returns them. */
  take(node: string, customers: readonly number[]): Promise<number[]>
  /** Assigns customers of this node to others; leaves those whose target has no heartbeat. */
  hand(node: string, handovers: readonly Handover[]): Promise<void>
  /** Ends the heartbeats of nodes, and frees their customers. */
  remove(nodes: readonly string[]): Promise<void>
}

/**
 * Number and sum distinguish the held customers from others, so that a node with many does not read
 * them each time. Texts instead of rows: the increment and all reads are one statement on one
 * snapshot.
 */
const beatOf = prepareStatement(`UPDATE gh_nodes
  SET heartbeat = heartbeat + 1 WHERE id = ? AND heartbeat IS NOT NULL
  RETURNING
    (SELECT string_agg(n.id || ' ' || n.heartbeat || ' ' ||
        (SELECT COUNT(*) FROM gh_delivery_leases l WHERE l.node = n.id), ',')
      FROM gh_nodes n WHERE n.heartbeat IS NOT NULL),
    (SELECT CASE WHEN COUNT(*) <> ? OR COALESCE(SUM(customer_no), 0) <> CAST(? AS BIGINT)
      THEN COALESCE(string_agg(CAST(customer_no AS TEXT), ','), '')
      END FROM gh_delivery_leases WHERE node = ?)`)

/** A condition of a joined node. */
const joinedNode = (node: string): Sql => sql`id = ${node} AND heartbeat IS NOT NULL`

const holdNode = (tx: Tx, node: string) =>
  tx.hold(sql`SELECT id FROM gh_nodes WHERE ${joinedNode(node)}`)

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
    async join(node) {
      await db.write(async (tx) => {
        await tx.run(sql`UPDATE gh_nodes SET heartbeat = 1 WHERE id = ${node}`)
        await freeOrphans(tx)
      })
    },
    async take(node, customers) {
      const sorted = [...customers].sort((a, b) => a - b)
      const insert = (tx: Tx) => [
        holdNode(tx, node),
        ...sorted.map((customer) =>
          tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node)
            SELECT CAST(${customer} AS BIGINT), id FROM gh_nodes WHERE ${joinedNode(node)}
            ON CONFLICT (customer_no) DO NOTHING`),
        ),
      ]
      const [, ...counts] = await db.write((tx) => Promise.all(insert(tx)), { single: true })
      return sorted.filter((_, index) => counts[index] === 1)
    },
    async hand(node, handovers) {
      const targets = [...new Set(handovers.map(({ target }) => target))].sort()
      const move = (tx: Tx) => [
        ...targets.map((id) => holdNode(tx, id)),
        ...handovers.map(({ customer, target }) =>
          tx.run(sql`UPDATE gh_delivery_leases SET node = ${target}
            WHERE customer_no = ${customer} AND node = ${node}
            AND EXISTS (SELECT 1 FROM gh_nodes WHERE ${joinedNode(target)})`),
        ),
      ]
      await db.write((tx) => Promise.all(move(tx)), { single: true })
    },
    async remove(nodes) {
      await db.write(async (tx) => {
        for (const node of [...nodes].sort()) {
          await tx.lock(sql`SELECT id FROM gh_nodes WHERE id = ${node}`)
          await tx.run(sql`UPDATE gh_nodes SET heartbeat = NULL WHERE id = ${node}`)
        }
        await freeOrphans(tx)
      })
    },
  }
}

/** Frees what nodes without a heartbeat hold. */
async function freeOrphans(tx: Tx): Promise<void> {
  await tx.run(sql`DELETE FROM gh_delivery_leases
    WHERE node NOT IN (SELECT id FROM gh_nodes WHERE heartbeat IS NOT NULL)`)
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
