/**
 * Leases: which node sends the deliveries of which customers. A node holds whole customers, so
 * rate, concurrency and breakers are exact in its memory, with any number of nodes, and claiming a
 * delivery needs no write. Each node increments a heartbeat counter; when a counter stops, other
 * nodes take over its customers. No two clocks are compared.
 */
import type { Clock } from '../kernel/clock.ts'
import { createFailureDetector } from '../kernel/failure-detector.ts'
import type { Log } from '../kernel/log.ts'
import type { Database, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import type { Leases } from './ports.ts'

export const HEARTBEAT_MS = 2_000
/** Another node's counter that has not changed for this long means that the node has failed. */
const FAILED_AFTER_MS = 10_000
/** Without a heartbeat for this long a node starts no attempt: others may have taken over. */
const UNSURE_AFTER_MS = 7_000
/** Customers handed over at a time. */
const HANDOVER_MAX = 64

interface LeasesDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process; never reused. */
  readonly node: string
}

export interface NodeLeases extends Leases {
  /**
   * Increments this node's counter, removes failed nodes and hands customers beyond this node's
   * share to nodes with fewer. To be called every `HEARTBEAT_MS`.
   */
  heartbeat(): Promise<void>
  /** Releases all customers. */
  release(): Promise<void>
}

export function nodeLeases(deps: LeasesDeps): NodeLeases {
  return deps.db.dialect.shared ? sharedLeases(deps) : soleLease(deps)
}

/**
 * One process sends from an SQLite file: the one that started last. The former one finds its row
 * deleted at its next heartbeat and stops sending.
 */
function soleLease({ db, clock, log, node }: LeasesDeps): NodeLeases {
  let isRegistered = false
  let isHolder = false
  let heartbeatAtMs = Number.NEGATIVE_INFINITY
  let generation = 0
  const findFailed = createFailureDetector<string>(clock, FAILED_AFTER_MS)
  const claim = async (tx: Tx) => {
    await tx.run(sql`DELETE FROM gh_delivery_nodes`)
    await insertNode(tx, node)
    return true
  }
  return {
    get isAlive() {
      return isHolder && clock.elapsedMs() - heartbeatAtMs < UNSURE_AFTER_MS
    },
    get generation() {
      return generation
    },
    holds: () => isHolder,
    async take() {},
    async heartbeat() {
      const wasHolder = isHolder
      isHolder = await db.write(async (tx) => {
        if (!isRegistered) return claim(tx)
        if (await incrementCounter(tx, node)) return true
        const others = await readNodes(tx)
        const failedNodes = findFailed(others.map(({ id, beat }) => [id, beat]))
        return failedNodes.length === others.length ? claim(tx) : false
      })
      if (isHolder && !wasHolder) generation++
      if (!isHolder && isRegistered) log.debug('another process delivers from this file')
      isRegistered = true
      heartbeatAtMs = clock.elapsedMs()
    },
    async release() {
      if (isHolder) await db.write((tx) => deleteNode(tx, node))
      isHolder = false
    },
  }
}

function sharedLeases({ db, clock, log, node }: LeasesDeps): NodeLeases {
  let held = new Set<number>()
  let heartbeatAtMs = Number.NEGATIVE_INFINITY
  let generation = 0
  let otherNodes: readonly string[] = []
  const findFailed = createFailureDetector<string>(clock, FAILED_AFTER_MS)
  /** Customers that this node took while it read the held ones: the read may precede them. */
  let taken = new Set<number>()
  /** Reads the held customers; those that this node has not taken come from another node. */
  const refresh = async () => {
    taken = new Set()
    const customers = await readHeld(db, node)
    if ([...customers].some((customer) => !held.has(customer))) generation++
    held = customers.union(taken)
  }
  return {
    get isAlive() {
      return clock.elapsedMs() - heartbeatAtMs < UNSURE_AFTER_MS
    },
    get generation() {
      return generation
    },
    holds: (customer) => held.has(customer),
    async take(customers) {
      const inserted = await db.write(async (tx) => {
        const numbers: number[] = []
        for (const customer of [...customers].sort((a, b) => a - b)) {
          const count = await tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node)
            VALUES (${customer}, ${node}) ON CONFLICT (customer_no) DO NOTHING`)
          if (count > 0) numbers.push(customer)
        }
        return numbers
      })
      for (const customer of inserted) {
        held.add(customer)
        taken.add(customer)
      }
    },
    async heartbeat() {
      const isRegistered = await db.write((tx) => incrementCounter(tx, node))
      if (!isRegistered) {
        // The node is new, or others regarded it as failed and hold its customers now.
        held = new Set()
        await db.write((tx) => insertNode(tx, node))
      }
      heartbeatAtMs = clock.elapsedMs()
      const others = (await readNodes(db)).filter(({ id }) => id !== node)
      const failedNodes = findFailed(others.map(({ id, beat }) => [id, beat]))
      for (const id of failedNodes) await db.write((tx) => deleteNode(tx, id))
      if (failedNodes.length > 0)
        log.warn({ nodes: failedNodes }, 'took over the deliveries of failed nodes')
      const ids = others.map(({ id }) => id).filter((id) => !failedNodes.includes(id))
      // The customers of a node that ended are free, also if another node noticed it.
      if (otherNodes.some((id) => !ids.includes(id))) generation++
      otherNodes = ids
      await refresh()
      const handovers = planHandovers(held, await readCounts(db, held.size, ids), ids)
      if (handovers.length === 0) return
      for (const { customer } of handovers) held.delete(customer)
      await db.write(async (tx) => {
        for (const { customer, target } of handovers) {
          await tx.run(sql`UPDATE gh_delivery_leases SET node = ${target}
            WHERE customer_no = ${customer} AND node = ${node}`)
        }
      })
    },
    async release() {
      held = new Set()
      heartbeatAtMs = Number.NEGATIVE_INFINITY
      await db.write((tx) => deleteNode(tx, node))
    },
  }
}

interface NodeRow {
  readonly id: string
  /** The heartbeat counter. */
  readonly beat: number
}

const readNodes = (from: Pick<Database, 'all'>) =>
  from.all<NodeRow>(sql`SELECT id, beat FROM gh_delivery_nodes`)

/** Returns false when the node's row is missing. */
const incrementCounter = async (tx: Tx, node: string): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_delivery_nodes SET beat = beat + 1 WHERE id = ${node}`)) === 1

const insertNode = (tx: Tx, node: string) =>
  tx.run(sql`INSERT INTO gh_delivery_nodes (id, beat) VALUES (${node}, 1)`)

async function deleteNode(tx: Tx, node: string): Promise<void> {
  await tx.run(sql`DELETE FROM gh_delivery_leases WHERE node = ${node}`)
  await tx.run(sql`DELETE FROM gh_delivery_nodes WHERE id = ${node}`)
}

async function readHeld(db: Database, node: string): Promise<Set<number>> {
  const rows = await db.arrays(sql`SELECT customer_no FROM gh_delivery_leases WHERE node = ${node}`)
  return new Set(rows.map((row) => row[0] as number))
}

/** Reads how many customers each of several nodes holds. */
async function readCounts(
  db: Database,
  held: number,
  others: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (others.length === 0 || held < 2) return new Map()
  const rows = await db.arrays(
    sql`SELECT node, COUNT(*) FROM gh_delivery_leases GROUP BY node ORDER BY node`,
  )
  return new Map(rows.map(([node, count]) => [node as string, Number(count)]))
}

interface Handover {
  readonly customer: number
  readonly target: string
}

/** Assigns the customers beyond this node's share to the nodes with the fewest. */
function planHandovers(
  held: ReadonlySet<number>,
  counts: ReadonlyMap<string, number>,
  others: readonly string[],
): Handover[] {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const share = Math.ceil(total / (others.length + 1))
  if (counts.size === 0 || held.size <= share) return []
  const numbers = others.map((id) => ({ id, count: counts.get(id) ?? 0 }))
  return [...held].slice(0, Math.min(held.size - share, HANDOVER_MAX)).map((customer) => {
    const target = numbers.reduce((least, other) => (other.count < least.count ? other : least))
    target.count += 1
    return { customer, target: target.id }
  })
}
