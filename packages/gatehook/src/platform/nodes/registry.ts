/**
 * The registry of the nodes of an installation. The main thread of each reports every 15 s, and
 * says when it ends; its delivery engine counts heartbeats in the same row (`lease-store.ts`).
 * Commands read what a node uses before they take it away.
 */
import type { Database, Reader } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

export const HEARTBEAT_MS = 15_000
/** A node that has not reported for this long ended without notice. */
export const GONE_AFTER_MS = 3 * HEARTBEAT_MS

/** The columns of resources that a node uses, by table, with their types. */
export type ColumnUse = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface RunningNode {
  /** Identifies this run of its process. */
  readonly id: string
  readonly name: string
  readonly slot: number
  /** JSON for `operate/monitoring/nodes.ts`. */
  readonly facts: string
  readonly columns: ColumnUse
  /** The ids of the master secrets that it has. */
  readonly keyIds: readonly string[]
  /** Epoch milliseconds. */
  readonly seenAt: number
}

/** A change would take something from nodes that run. The message is for the operator. */
export class NodesRunError extends Error {
  override readonly name = 'NodesRunError'
}

/** Stores the report of a node that runs. */
export const storeNode = (db: Database, node: RunningNode): Promise<unknown> =>
  db.write(
    (tx) =>
      tx.run(sql`INSERT INTO gh_nodes (id, name, slot, facts, columns, key_ids, seen_at)
        VALUES (${node.id}, ${node.name}, ${node.slot}, ${node.facts},
          ${JSON.stringify(node.columns)}, ${JSON.stringify(node.keyIds)}, ${node.seenAt})
        ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, key_ids = excluded.key_ids,
          seen_at = excluded.seen_at`),
    { single: true },
  )

/**
 * Deletes a node, and those that reported last before `beforeMs`. One that holds customers stays
 * until another engine has freed them.
 */
export const deleteNode = (db: Database, id: string, beforeMs: number): Promise<unknown> =>
  db.write(
    (tx) =>
      tx.run(sql`DELETE FROM gh_nodes
        WHERE heartbeat IS NULL AND (id = ${id} OR seen_at <= ${beforeMs})`),
    { single: true },
  )

/** Returns at most 200 nodes that have reported since `sinceMs`. */
export async function listNodes(from: Reader, sinceMs: number): Promise<RunningNode[]> {
  const rows = await from.all(sql`SELECT id, name, slot, facts, columns, key_ids, seen_at
    FROM gh_nodes WHERE seen_at > ${sinceMs} ORDER BY id LIMIT 200`)
  return rows.map(({ key_ids, seen_at, columns, ...row }) => ({
    ...(row as Pick<RunningNode, 'id' | 'name' | 'slot' | 'facts'>),
    columns: JSON.parse(columns),
    keyIds: JSON.parse(key_ids),
    seenAt: seen_at,
  }))
}

/** Returns the nodes that have not ended. */
export const listRunningNodes = (from: Reader, nowMs: number): Promise<RunningNode[]> =>
  listNodes(from, nowMs - GONE_AFTER_MS)

export const namesOf = (nodes: readonly Pick<RunningNode, 'name'>[]): string =>
  [...new Set(nodes.map(({ name }) => name))].sort().join(', ')
