/**
 * SQL of the leases on PostgreSQL; `shared-leases.ts` decides when each statement runs. A node that
 * is not registered can hold nothing: a lease is written in a transaction that locks the row of its
 * node, and the row of a node is deleted before its leases.
 */
import type { Database, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { CustomerPart, PartLease } from './customer-parts.ts'

export interface DeliveryNode {
  readonly id: string
  /** The heartbeat counter. */
  readonly heartbeat: number
  /** Customers that it holds. */
  readonly customers: number
  /** The percentage of time in which deliveries waited for it. */
  readonly load: number
}

/** The leases as of one instant. */
interface LeaseState {
  /** All registered nodes, this one included. */
  readonly nodes: readonly DeliveryNode[]
  /** The customers of this node; undefined: those that it knows to hold. */
  readonly customers: readonly number[] | undefined
  /** All parts of all customers. */
  readonly parts: readonly PartLease[]
}

export interface Handover {
  readonly customer: number
  /** The node that gets it. */
  readonly target: string
}

export interface LeaseStore {
  /**
   * Increments the counter of this node and reads the leases, in one round trip. `held`: customers
   * that this node knows to hold; `load`: its percentage. Undefined: the node is not registered.
   */
  heartbeat(node: string, held: ReadonlySet<number>, load: number): Promise<LeaseState | undefined>
  register(node: string): Promise<void>
  /** Takes those of the customers that no node holds, and returns them. */
  take(node: string, customers: readonly number[]): Promise<number[]>
  /** Assigns customers of this node to others; leaves those whose target is not registered. */
  hand(node: string, handovers: readonly Handover[]): Promise<void>
  /**
   * Moves a part of a customer: from this node to the target, or without one, back to the node that
   * holds the customer.
   */
  movePart(
    node: string,
    part: CustomerPart & { readonly target: string | undefined },
  ): Promise<void>
  /** Removes nodes, and frees their customers and parts. */
  remove(nodes: readonly string[]): Promise<void>
}

/**
 * Number and sum distinguish the held customers from others, so that a node with many does not read
 * them each time. Texts instead of rows: the increment and all reads are one statement on one
 * snapshot.
 */
const beatOf = prepareStatement(`UPDATE gh_delivery_nodes
  SET heartbeat = heartbeat + 1, load = ? WHERE id = ?
  RETURNING
    (SELECT string_agg(n.id || ' ' || n.heartbeat || ' ' ||
        (SELECT COUNT(*) FROM gh_delivery_leases l WHERE l.node = n.id) || ' ' || n.load, ',')
      FROM gh_delivery_nodes n),
    (SELECT CASE WHEN COUNT(*) <> ? OR COALESCE(SUM(customer_no), 0) <> CAST(? AS BIGINT)
      THEN COALESCE(string_agg(CAST(customer_no AS TEXT), ','), '')
      END FROM gh_delivery_leases WHERE node = ?),
    (SELECT string_agg(p.customer_no || ' ' || p.modulus || ' ' || p.residue || ' ' || p.node
        || ' ' || COALESCE(l.node, ''), ',')
      FROM gh_delivery_parts p LEFT JOIN gh_delivery_leases l ON l.customer_no = p.customer_no)`)

export function createLeaseStore(db: Database): LeaseStore {
  return {
    async heartbeat(node, held, load) {
      const sum = [...held].reduce((total, customer) => total + customer, 0)
      const heartbeat = beatOf([load, node, held.size, sum, node])
      const [row] = await db.write((tx) => tx.arrays(heartbeat), { single: true })
      if (!row) return undefined
      const [nodes, customers, parts] = row as [string, string | null, string | null]
      return {
        nodes: parseNodes(nodes),
        customers: parseNumbers(customers),
        parts: parseParts(parts),
      }
    },
    async register(node) {
      await db.write(async (tx) => {
        await tx.run(sql`DELETE FROM gh_delivery_parts WHERE node = ${node}`)
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
    async movePart(node, { customer, modulus, residue, target }) {
      const row = sql`customer_no = ${customer} AND modulus = ${modulus} AND residue = ${residue}`
      // The target may have the part already, and then keeps it.
      const move = (tx: Tx) =>
        target === undefined
          ? [tx.run(sql`DELETE FROM gh_delivery_parts WHERE ${row} AND node = ${node}`)]
          : [
              tx.hold(sql`SELECT id FROM gh_delivery_nodes WHERE id = ${node}`),
              tx.hold(sql`SELECT id FROM gh_delivery_nodes WHERE id = ${target}`),
              tx.run(sql`INSERT INTO gh_delivery_parts (customer_no, modulus, residue, node)
                SELECT CAST(${customer} AS BIGINT), CAST(${modulus} AS BIGINT),
                  CAST(${residue} AS BIGINT), id
                FROM gh_delivery_nodes WHERE id = ${target}
                AND (EXISTS (SELECT 1 FROM gh_delivery_leases
                    WHERE customer_no = ${customer} AND node = ${node})
                  OR EXISTS (SELECT 1 FROM gh_delivery_parts
                    WHERE customer_no = ${customer} AND node = ${node}))
                ON CONFLICT (customer_no, modulus, residue) DO NOTHING`),
            ]
      await db.write((tx) => Promise.all<unknown>(move(tx)), { single: true })
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
  await tx.run(sql`DELETE FROM gh_delivery_parts
    WHERE node NOT IN (SELECT id FROM gh_delivery_nodes)`)
}

const parseNodes = (text: string): DeliveryNode[] =>
  text.split(',').map((words) => {
    const [id = '', ...numbers] = words.split(' ')
    const [heartbeat = 0, customers = 0, load = 0] = numbers.map(Number)
    return { id, heartbeat, customers, load }
  })

const parseParts = (text: string | null): PartLease[] =>
  (text?.split(',') ?? []).map((words) => {
    const [customer, modulus, residue, node = '', holder = ''] = words.split(' ')
    const part = { customer: Number(customer), modulus: Number(modulus), residue: Number(residue) }
    return { ...part, node, holder: holder === '' ? undefined : holder }
  })

function parseNumbers(text: string | null): number[] | undefined {
  if (text === null) return undefined
  return text === '' ? [] : text.split(',').map(Number)
}
