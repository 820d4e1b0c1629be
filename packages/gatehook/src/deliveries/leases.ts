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
/** A node does not take back a customer that it released until this time has passed. */
const RELEASED_MS = 10_000
/** Customers released at a time. */
const RELEASE_MAX = 64

interface LeasesDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process; never reused. */
  readonly node: string
}

export interface NodeLeases extends Leases {
  /**
   * Increments this node's counter, removes failed nodes and releases customers beyond this node's
   * share. To be called every `HEARTBEAT_MS`.
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
    holds: () => isHolder,
    async take() {},
    async heartbeat() {
      isHolder = await db.write(async (tx) => {
        if (!isRegistered) return claim(tx)
        if (await incrementCounter(tx, node)) return true
        const others = await readNodes(tx)
        const failedNodes = findFailed(others.map(({ id, beat }) => [id, beat]))
        return failedNodes.length === others.length ? claim(tx) : false
      })
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
  /** By customer: when this node may take it again. */
  const releasedUntilMs = new Map<number, number>()
  const findFailed = createFailureDetector<string>(clock, FAILED_AFTER_MS)
  return {
    get isAlive() {
      return clock.elapsedMs() - heartbeatAtMs < UNSURE_AFTER_MS
    },
    holds: (customer) => held.has(customer),
    async take(customers) {
      const nowMs = clock.elapsedMs()
      const free = customers.filter((customer) => (releasedUntilMs.get(customer) ?? 0) <= nowMs)
      if (free.length === 0) return
      await db.write(async (tx) => {
        for (const customer of [...free].sort((a, b) => a - b)) {
          await tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node)
            VALUES (${customer}, ${node}) ON CONFLICT (customer_no) DO NOTHING`)
        }
      })
      held = await readHeld(db, node)
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
      held = await readHeld(db, node)
      const surplus = await readSurplus(db, held.size, others.length - failedNodes.length + 1)
      const released = [...held].slice(0, Math.min(surplus, RELEASE_MAX))
      for (const [customer, untilMs] of releasedUntilMs) {
        if (untilMs <= clock.elapsedMs()) releasedUntilMs.delete(customer)
      }
      if (released.length === 0) return
      for (const customer of released) {
        held.delete(customer)
        releasedUntilMs.set(customer, clock.elapsedMs() + RELEASED_MS)
      }
      await db.write(async (tx) => {
        for (const customer of released) {
          await tx.run(sql`DELETE FROM gh_delivery_leases
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

/** Reads how many customers beyond its share a node holds. */
async function readSurplus(db: Database, held: number, nodes: number): Promise<number> {
  if (nodes < 2 || held < 2) return 0
  const row = await db.get(sql`SELECT COUNT(*) AS held FROM gh_delivery_leases`)
  return held - Math.ceil(Number(row?.held) / nodes)
}
