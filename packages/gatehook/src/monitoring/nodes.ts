/**
 * The nodes of an installation (`GET /admin/system`). On PostgreSQL each node stores a row every
 * 15 s; a row that is older than 45 s belongs to a node that ended without notice. On SQLite there
 * is one node, which stores nothing.
 */
import type { Clock } from '../kernel/clock.ts'
import { sql } from '../storage/sql.ts'
import { NODE_SLOTS } from './position.ts'
import type { MonitoringStore } from './store.ts'

export const HEARTBEAT_MS = 15_000
const GONE_AFTER_MS = 3 * HEARTBEAT_MS
/** Rows of nodes that ended without notice are deleted after this time. */
const DELETED_AFTER_MS = 3_600_000

type NodeRole = 'all' | 'serve' | 'deliver'

/** The role and the state that a node stores. */
export interface NodeFacts {
  readonly role: NodeRole
  /** Epoch milliseconds. */
  readonly since: number
  readonly release: string
  readonly ready: boolean
  /** How long its oldest due delivery has been due, without failing receivers. */
  readonly queueAgeMs: number
  readonly inFlight: number
}

export interface NodeState extends NodeFacts {
  readonly id: string
  readonly state: 'ready' | 'not_ready' | 'gone'
  readonly seenAt: number
}

interface NodeRegistryOptions {
  readonly store: MonitoringStore
  readonly clock: Clock
  /** Identifies this run of this process. */
  readonly node: string
  readonly describe: () => Promise<NodeFacts>
}

export interface NodeRegistry {
  /** The slot of this node in positions of requests. */
  slot(): number
  heartbeat(): Promise<void>
  list(): Promise<NodeState[]>
  /** Deletes this node's row. */
  leave(): Promise<void>
}

const stateOf = (facts: NodeFacts, seenAt: number, now: number): NodeState['state'] => {
  if (now - seenAt > GONE_AFTER_MS) return 'gone'
  return facts.ready ? 'ready' : 'not_ready'
}

export function createNodeRegistry(options: NodeRegistryOptions): NodeRegistry {
  const { store, clock, node, describe } = options
  let slot: number | undefined
  const own = async (): Promise<NodeState> => {
    const facts = await describe()
    const now = clock.now()
    return { ...facts, id: node, state: stateOf(facts, now, now), seenAt: now }
  }
  /** Takes the lowest slot that no node uses; two that start at once may take the same. */
  const takeSlot = async () => {
    const rows = await store.all<{ slot: number }>(sql`SELECT slot FROM gh_monitoring_nodes
      WHERE id <> ${node} AND seen_at > ${clock.now() - GONE_AFTER_MS}`)
    const used = new Set(rows.map((row) => row.slot))
    const free = Array.from({ length: NODE_SLOTS }, (_, at) => at).find((at) => !used.has(at))
    return free ?? 0
  }
  return {
    slot: () => slot ?? 0,
    async heartbeat() {
      if (!store.shared) return
      slot ??= await takeSlot()
      const { id, seenAt, state, ...facts } = await own()
      await store.write([
        sql`INSERT INTO gh_monitoring_nodes (id, slot, facts, seen_at)
          VALUES (${id}, ${slot}, ${JSON.stringify(facts)}, ${seenAt})
          ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, seen_at = excluded.seen_at`,
      ])
    },
    async list() {
      const current = await own()
      if (!store.shared) return [current]
      const now = clock.now()
      const rows = await store.all<{ id: string; facts: string; seen_at: number }>(
        sql`SELECT id, facts, seen_at FROM gh_monitoring_nodes
          WHERE id <> ${node} AND seen_at > ${now - DELETED_AFTER_MS} ORDER BY id LIMIT 200`,
      )
      const others = rows.map(({ id, facts: text, seen_at: seenAt }): NodeState => {
        const facts = JSON.parse(text) as NodeFacts
        return { ...facts, id, seenAt, state: stateOf(facts, seenAt, now) }
      })
      return [current, ...others]
    },
    async leave() {
      if (!store.shared || slot === undefined) return
      await store.write([
        sql`DELETE FROM gh_monitoring_nodes
          WHERE id = ${node} OR seen_at <= ${clock.now() - DELETED_AFTER_MS}`,
      ])
    },
  }
}
