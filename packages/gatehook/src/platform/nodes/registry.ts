/**
 * The registry of the nodes of an installation. The main thread of each reports every 15 s, gives a
 * sign of life between reports, and says when it ends; its delivery engine counts heartbeats in the
 * same row (`lease-store.ts`). Commands read what a node uses before they take it away. An ended
 * node, and a failed start, stay until a node of that name starts, for a day at most.
 */
import type { Database, Reader, Statement } from '../storage/database.ts'
import { type Sql, sql } from '../storage/sql.ts'

export const HEARTBEAT_MS = 15_000
/** The time between two signs of life on a shared database, of which every third is a report. */
export const SIGN_MS = HEARTBEAT_MS / 3
/** A node that has not reported for this long ended without notice. */
export const GONE_AFTER_MS = 3 * HEARTBEAT_MS
/** How long an ended node stays. */
export const ENDED_STAYS_MS = 86_400_000

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

/** Why a node did not start, for operators; without secrets. */
export interface StartFailure {
  readonly reason: 'configuration' | 'declaration' | 'database' | 'clock'
  readonly message: string
}

/** A node of the last day, which may have ended. */
export interface FormerNode extends Pick<RunningNode, 'id' | 'name' | 'facts' | 'seenAt'> {
  /** Null: it gave no notice of its end. */
  readonly endedAt: number | null
  /** Null: it has started. */
  readonly failure: StartFailure | null
}

/** A change would take something from nodes that run. The message is for the operator. */
export class NodesRunError extends Error {
  override readonly name = 'NodesRunError'
}

const runAlone = (db: Database, statement: Statement): Promise<number> =>
  db.write((tx) => tx.run(statement), { single: true })

/** Stores the report of a node that runs. */
export const storeNode = (db: Database, node: RunningNode): Promise<unknown> =>
  runAlone(
    db,
    sql`INSERT INTO gh_nodes (id, name, slot, facts, columns, key_ids, seen_at)
      VALUES (${node.id}, ${node.name}, ${node.slot}, ${node.facts},
        ${JSON.stringify(node.columns)}, ${JSON.stringify(node.keyIds)}, ${node.seenAt})
      ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, key_ids = excluded.key_ids,
        seen_at = excluded.seen_at`,
  )

/** Stores that a node runs, whose last report is valid. */
export const storeSign = (db: Database, id: string, nowMs: number): Promise<unknown> =>
  runAlone(db, sql`UPDATE gh_nodes SET seen_at = ${nowMs} WHERE id = ${id}`)

/** Stores that a node has ended. */
export const endNode = (db: Database, id: string, nowMs: number): Promise<unknown> =>
  runAlone(db, sql`UPDATE gh_nodes SET ended_at = ${nowMs}, seen_at = ${nowMs} WHERE id = ${id}`)

/** A step of its clock that a node doubts and follows all the same: see `SteadyClock`. */
export interface DoubtedStep {
  readonly byMs: number
  /** How long it doubts it still. */
  readonly leftMs: number
}

interface LastReport {
  readonly seenAt: number
  readonly doubt?: DoubtedStep | undefined
}

/** Returns the last report of any node, by the time that it does not doubt; undefined: none. */
export async function readLastReport(from: Reader): Promise<LastReport | undefined> {
  const rows = await from.all<{ facts: string; seen_at: number }>(
    sql`SELECT facts, seen_at FROM gh_nodes ORDER BY seen_at DESC LIMIT 200`,
  )
  const reports = rows.map(({ facts, seen_at }): LastReport => {
    const { doubt } = JSON.parse(facts) as Pick<LastReport, 'doubt'>
    return { seenAt: seen_at, doubt }
  })
  const timeOf = ({ seenAt, doubt }: LastReport) => seenAt - (doubt?.byMs ?? 0)
  return reports.sort((a, b) => timeOf(b) - timeOf(a))[0]
}

/** A report that lies further ahead is of a clock that was ahead, and of no node that runs. */
const AHEAD_MS = 60_000

/** Stores that a node of this name did not start, in place of its former failure. */
export const storeFailedStart = (
  db: Database,
  name: string,
  failure: StartFailure,
  nowMs: number,
): Promise<unknown> =>
  runAlone(
    db,
    sql`INSERT INTO gh_nodes
        (id, name, slot, facts, columns, key_ids, seen_at, ended_at, failure)
      VALUES (${`start:${name}`}, ${name}, 0, '{}', '{}', '[]', ${nowMs}, ${nowMs},
        ${JSON.stringify(failure)})
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, ended_at = excluded.ended_at,
        failure = excluded.failure`,
  )

/**
 * Deletes the ended nodes that a node of this name replaces, and returns their number. A node that
 * holds customers stays until another engine has freed them.
 */
export const deleteFormerNodes = (db: Database, name: string, nowMs: number): Promise<number> =>
  runAlone(
    db,
    sql`DELETE FROM gh_nodes WHERE heartbeat IS NULL AND name = ${name}
      AND (ended_at IS NOT NULL OR seen_at <= ${nowMs - GONE_AFTER_MS}
        OR seen_at > ${nowMs + AHEAD_MS})`,
  )

/**
 * Deletes the nodes that ended more than a day ago, except those that hold customers, and those of
 * a clock that was ahead: one that runs reports again.
 */
export const purgeEndedNodes = (db: Database, nowMs: number): Promise<number> =>
  runAlone(
    db,
    sql`DELETE FROM gh_nodes WHERE heartbeat IS NULL
      AND (seen_at <= ${nowMs - ENDED_STAYS_MS} OR seen_at > ${nowMs + AHEAD_MS})`,
  )

/** Returns at most 200 nodes that have reported between two instants, and have not ended. */
export async function listNodes(
  from: Reader,
  sinceMs: number,
  untilMs = Number.MAX_SAFE_INTEGER,
): Promise<RunningNode[]> {
  const rows = await from.all(sql`SELECT id, name, slot, facts, columns, key_ids, seen_at
    FROM gh_nodes WHERE ended_at IS NULL AND seen_at > ${sinceMs} AND seen_at <= ${untilMs}
    ORDER BY id LIMIT 200`)
  return rows.map(({ key_ids, seen_at, columns, ...row }) => ({
    ...(row as Pick<RunningNode, 'id' | 'name' | 'slot' | 'facts'>),
    columns: JSON.parse(columns),
    keyIds: JSON.parse(key_ids),
    seenAt: seen_at,
  }))
}

/** Returns the nodes that have not ended. */
export const listRunningNodes = (from: Reader, nowMs: number): Promise<RunningNode[]> =>
  listNodes(from, nowMs - GONE_AFTER_MS, nowMs + AHEAD_MS)

/** Returns at most 200 nodes that ended, or reported last, between two instants; newest first. */
export async function listFormerNodes(
  from: Reader,
  sinceMs: number,
  silentSinceMs: number,
): Promise<FormerNode[]> {
  const rows = await from.all(sql`SELECT id, name, facts, seen_at, ended_at, failure
    FROM gh_nodes WHERE seen_at > ${sinceMs}
      AND (ended_at IS NOT NULL OR seen_at <= ${silentSinceMs})
    ORDER BY seen_at DESC, id LIMIT 200`)
  return rows.map(({ seen_at, ended_at, failure, ...row }) => ({
    ...(row as Pick<RunningNode, 'id' | 'name' | 'facts'>),
    seenAt: seen_at,
    endedAt: ended_at,
    failure: failure === null ? null : JSON.parse(failure),
  }))
}

/**
 * SQL of PostgreSQL for when other nodes reported last, each by its own clock: a JSON array. A node
 * of the same name that was killed while its clock was ahead hides no later one.
 */
export const lastReportsOf = (name: string): Sql =>
  sql`(SELECT json_agg(at) FROM (SELECT seen_at AS at FROM gh_nodes
    WHERE ended_at IS NULL AND name <> ${name} ORDER BY seen_at DESC LIMIT 200) AS latest)`

export const namesOf = (nodes: readonly Pick<RunningNode, 'name'>[]): string =>
  [...new Set(nodes.map(({ name }) => name))].sort().join(', ')
