/**
 * Whose work a node does. A node takes customers whole, so that rate, caps and breakers, kept in
 * its memory, are exact however many nodes there are, and a delivery costs no write to be claimed.
 * Nodes show that they live by a number that grows; who sees one stand still takes over its
 * customers. No two clocks are ever compared.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Database, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import type { Leases } from './work.ts'

export const BEAT_MS = 2_000
/** A node whose number stood still for so long, as others see it, is dead. */
const DEAD_MS = 10_000
/** A node that could not beat for so long starts nothing more: the others may think it dead. */
const UNSURE_MS = 7_000
/** A customer handed over is left to others for so long. */
const LEFT_MS = 10_000
/** Customers handed over at a time. */
const HANDED_MAX = 64

export interface LeasesDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** This run of this process; never used before. */
  readonly node: string
}

export interface NodeLeases extends Leases {
  /** Says that this node lives, buries the dead, shares out evenly; every `BEAT_MS`. */
  beat(): Promise<void>
  /** Gives everything back. */
  release(): Promise<void>
}

export function nodeLeases(deps: LeasesDeps): NodeLeases {
  return deps.db.dialect.shared ? sharedLeases(deps) : soleLease(deps)
}

/**
 * A file is one machine's: who starts last does the work. One that worked before finds its row gone
 * at its next beat, and stands by.
 */
function soleLease({ db, clock, log, node }: LeasesDeps): NodeLeases {
  let registered = false
  let mine = false
  let beatenAt = Number.NEGATIVE_INFINITY
  const watch = watching(clock)
  const claim = (tx: Tx) => tx.run(sql`DELETE FROM gh_delivery_nodes`).then(() => enter(tx, node))
  return {
    get alive() {
      return mine && clock.elapsedMs() - beatenAt < UNSURE_MS
    },
    holds: () => mine,
    async take() {},
    async beat() {
      mine = await db.write(async (tx) => {
        if (!registered) return claim(tx)
        if (await grow(tx, node)) return true
        const others = await nodesOf(tx)
        const dead = watch(others)
        return dead.length === others.length ? claim(tx) : false
      })
      if (!mine && registered) log.debug('another process delivers from this file')
      registered = true
      beatenAt = clock.elapsedMs()
    },
    async release() {
      if (mine) await db.write((tx) => leave(tx, node))
      mine = false
    },
  }
}

function sharedLeases({ db, clock, log, node }: LeasesDeps): NodeLeases {
  let held = new Set<number>()
  let beatenAt = Number.NEGATIVE_INFINITY
  const left = new Map<number, number>()
  const watch = watching(clock)
  const bury = async (dead: readonly string[]) => {
    for (const one of dead) await db.write((tx) => leave(tx, one))
    if (dead.length > 0) log.warn({ nodes: dead }, 'a node is dead; its deliveries are taken over')
  }
  return {
    get alive() {
      return clock.elapsedMs() - beatenAt < UNSURE_MS
    },
    holds: (customer) => held.has(customer),
    async take(customers) {
      const now = clock.elapsedMs()
      const wanted = customers.filter((one) => (left.get(one) ?? 0) <= now)
      if (wanted.length === 0) return
      await db.write(async (tx) => {
        for (const customer of [...wanted].sort((a, b) => a - b)) {
          await tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node)
            VALUES (${customer}, ${node}) ON CONFLICT (customer_no) DO NOTHING`)
        }
      })
      held = await heldBy(db, node)
    },
    async beat() {
      const known = await db.write((tx) => grow(tx, node))
      if (!known) {
        // New, or taken for dead meanwhile: then all it had is others' now.
        held = new Set()
        await db.write((tx) => enter(tx, node))
      }
      beatenAt = clock.elapsedMs()
      const others = (await nodesOf(db)).filter(({ id }) => id !== node)
      const dead = watch(others)
      await bury(dead)
      held = await heldBy(db, node)
      const surplus = await surplusOf(db, held.size, others.length - dead.length + 1)
      const handed = [...held].slice(0, Math.min(surplus, HANDED_MAX))
      if (handed.length === 0) return
      for (const one of handed) {
        held.delete(one)
        left.set(one, clock.elapsedMs() + LEFT_MS)
      }
      await db.write(async (tx) => {
        for (const one of handed) {
          await tx.run(sql`DELETE FROM gh_delivery_leases
            WHERE customer_no = ${one} AND node = ${node}`)
        }
      })
    },
    async release() {
      held = new Set()
      beatenAt = Number.NEGATIVE_INFINITY
      await db.write((tx) => leave(tx, node))
    },
  }
}

/** Tells which nodes' numbers have stood still for too long, by this node's own watch. */
function watching(clock: Clock) {
  let seen = new Map<string, { readonly beat: number; readonly since: number }>()
  return (nodes: readonly NodeRow[]): string[] => {
    const now = clock.elapsedMs()
    seen = new Map(
      nodes.map(({ id, beat }) => {
        const before = seen.get(id)
        return [id, before?.beat === beat ? before : { beat, since: now }]
      }),
    )
    return [...seen].filter(([, { since }]) => now - since >= DEAD_MS).map(([id]) => id)
  }
}

interface NodeRow {
  readonly id: string
  readonly beat: number
}

const nodesOf = (from: Pick<Database, 'all'>) =>
  from.all<NodeRow>(sql`SELECT id, beat FROM gh_delivery_nodes`)

const grow = async (tx: Tx, node: string): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_delivery_nodes SET beat = beat + 1 WHERE id = ${node}`)) === 1

async function enter(tx: Tx, node: string): Promise<true> {
  await tx.run(sql`INSERT INTO gh_delivery_nodes (id, beat) VALUES (${node}, 1)`)
  return true
}

async function leave(tx: Tx, node: string): Promise<void> {
  await tx.run(sql`DELETE FROM gh_delivery_leases WHERE node = ${node}`)
  await tx.run(sql`DELETE FROM gh_delivery_nodes WHERE id = ${node}`)
}

async function heldBy(db: Database, node: string): Promise<Set<number>> {
  const rows = await db.arrays(sql`SELECT customer_no FROM gh_delivery_leases WHERE node = ${node}`)
  return new Set(rows.map((row) => row[0] as number))
}

/** How many customers more than its share a node has. */
async function surplusOf(db: Database, mine: number, nodes: number): Promise<number> {
  if (nodes < 2 || mine < 2) return 0
  const row = await db.get(sql`SELECT COUNT(*) AS held FROM gh_delivery_leases`)
  return mine - Math.ceil(Number(row?.held) / nodes)
}
