/** SQL of emitted events: which wait, and how they leave their table. */
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { KEY_MS } from './emit-function.ts'

/** Scopes that share one transaction while many rows wait. */
const TURN_SCOPES = 10
/** Rows that one transaction moves, and the bytes of their objects. */
const BATCH = 100
const BATCH_BYTES = 2 * 1024 * 1024
/** Declarations that a held event remembers. */
const DECLARATIONS_MAX = 16

export interface Emission {
  readonly no: number
  readonly id: string
  readonly scope: Scope
  readonly type: string
  readonly object: string
  readonly created_at: number
}

/** The transactions that a statement saw: the end of its transactions, and those in progress. */
export interface Snapshot {
  readonly ends: number
  readonly open: readonly string[]
}

/** `xmin:xmax:xip,xip` of PostgreSQL. */
function parseSnapshot(text: string): Snapshot {
  const [, ends = '0', open = ''] = text.split(':')
  return { ends: Number(ends), open: open === '' ? [] : open.split(',') }
}

const WAITING = 'FROM gh_emissions WHERE expires_at IS NULL AND held_at IS NULL'

/**
 * Returns SQL that begins a statement with the rows `w` that wait. Those of transactions that a
 * snapshot did not see are two ranges of the index: a condition with OR would read all of its
 * entries, those of deleted rows included.
 */
const waitingRows = (isUnseen: boolean, limit: number, lock = '') => {
  const rows = (condition: string) => `SELECT no, octet_length(object) AS bytes ${WAITING}
    ${condition} ORDER BY txid, no LIMIT ${limit} ${lock}`
  if (!isUnseen) return `WITH w AS (${rows('')})`
  return `WITH later AS (${rows('AND txid >= CAST(? AS BIGINT)')}),
    earlier AS (SELECT r.no, r.bytes FROM unnest(CAST(? AS BIGINT[])) AS o(id)
      CROSS JOIN LATERAL (${rows('AND txid = o.id')}) AS r LIMIT ${limit}),
    w AS (SELECT no, bytes FROM earlier UNION ALL SELECT no, bytes FROM later)`
}
const statementsFor = (isUnseen: boolean) => ({
  presence: prepareStatement(`${waitingRows(isUnseen, 1)}
    SELECT CAST(pg_current_snapshot() AS text) AS snapshot,
      CASE WHEN EXISTS (SELECT 1 FROM w) THEN 1 ELSE 0 END AS waits`),
  lock: prepareStatement(`${waitingRows(isUnseen, BATCH, 'FOR UPDATE SKIP LOCKED')}
    SELECT no, bytes FROM w LIMIT ${BATCH}`),
})
const [all, unseen] = [statementsFor(false), statementsFor(true)]
const valuesOf = (after: Snapshot | undefined) =>
  after ? [after.ends, `{${after.open.join(',')}}`] : []
const kindOf = (after: Snapshot | undefined) => (after ? unseen : all)

/** Returns whether emissions wait, after a snapshot only those that it did not see. */
export async function readWaiting(from: Reader, after: Snapshot | undefined) {
  const row = await from.get(kindOf(after).presence(valuesOf(after)))
  return { snapshot: parseSnapshot(row!.snapshot), waits: row!.waits === 1 }
}

/** Locks the first of them that another node does not lock. */
export async function lockWaiting(tx: Tx, after: Snapshot | undefined) {
  const rows = await tx.all<{ no: number; bytes: number }>(kindOf(after).lock(valuesOf(after)))
  const nos = withinBytes(rows).map(({ no }) => no)
  return { nos, isLast: nos.length === rows.length && rows.length < BATCH }
}

function withinBytes<R extends { readonly bytes: number }>(rows: readonly R[]): readonly R[] {
  let sum = 0
  const fits = rows.findIndex(({ bytes }) => (sum += bytes) > BATCH_BYTES)
  return fits === -1 ? rows : rows.slice(0, Math.max(1, fits))
}

const nextScope = (after: string) => `(SELECT min(scope) ${WAITING} AND scope > ${after})`
const firstOfScopes = prepareStatement(`WITH RECURSIVE s(scope, place) AS (
    SELECT ${nextScope('CAST(? AS BIGINT)')}, 1
    UNION ALL SELECT ${nextScope('s.scope')}, s.place + 1 FROM s
      WHERE s.scope IS NOT NULL AND s.place < ${TURN_SCOPES})
  SELECT r.no, r.bytes, s.scope, s.place FROM s
  CROSS JOIN LATERAL (SELECT no, octet_length(object) AS bytes ${WAITING} AND scope = s.scope
    ORDER BY txid, no LIMIT (SELECT ${BATCH} / count(scope) FROM s)
    FOR UPDATE SKIP LOCKED) AS r
  WHERE s.scope IS NOT NULL ORDER BY s.place`)

/**
 * Locks the first rows of each of the scopes after one, in equal parts. Returns the scope after
 * which the next turn begins; 0: with the first one.
 */
export async function lockTurn(tx: Tx, after: number) {
  type TurnRow = { no: number; bytes: number; scope: number; place: number }
  const rows = await tx.all<TurnRow>(firstOfScopes([after]))
  const taken = withinBytes(rows)
  const last = taken.at(-1)
  const isEnd = taken.length === rows.length && (last?.place ?? 0) < TURN_SCOPES
  return { nos: taken.map(({ no }) => no), next: isEnd ? 0 : last!.scope }
}

const held = prepareStatement(`SELECT no FROM gh_emissions
  WHERE held_at IS NOT NULL AND strpos(held_by, ?) = 0 AND no > ? ORDER BY no LIMIT 1`)

/** Returns the next held emission after a number that a declaration has not refused. */
export const findHeldByOthers = (from: Reader, declaration: string, after: number) =>
  from.get<{ no: number }>(held([declaration, after]))

const locked = prepareStatement(`SELECT no, id, scope, type, object, created_at FROM gh_emissions
  WHERE no = ANY (CAST(? AS BIGINT[])) AND expires_at IS NULL ORDER BY no FOR UPDATE SKIP LOCKED`)

const listOf = (nos: readonly number[]) => `{${nos.join(',')}}`

/** Locks emissions that another node does not lock, and that wait or are held. */
export const lockEmissions = (tx: Tx, nos: readonly number[]) =>
  tx.all<Emission>(locked([listOf(nos)]))

const leave = prepareStatement(`UPDATE gh_emissions
  SET object = '', held_at = NULL, problem = NULL, expires_at = created_at + CAST(? AS BIGINT)
  WHERE no = ANY (CAST(? AS BIGINT[])) AND key_hash IS NOT NULL`)
const remove = prepareStatement(
  'DELETE FROM gh_emissions WHERE no = ANY (CAST(? AS BIGINT[])) AND key_hash IS NULL',
)

/** Ends the wait of emissions: rows with a key stay without their objects. */
export function endEmissions(tx: Tx, nos: readonly number[]): void {
  tx.runLater(leave([KEY_MS, listOf(nos)]))
  tx.runLater(remove([listOf(nos)]))
}

const dropped = prepareStatement('DELETE FROM gh_emissions WHERE no = ANY (CAST(? AS BIGINT[]))')

/** Deletes emissions of deleted customers, with their keys. */
export const dropEmissions = (tx: Tx, nos: readonly number[]): void =>
  tx.runLater(dropped([listOf(nos)]))

interface Refusal {
  readonly declaration: string
  readonly problem: string
  readonly now: number
}

/** Holds an emission that does not fit a declaration. */
export const holdEmission = (tx: Tx, no: number, { declaration, problem, now }: Refusal) =>
  tx.run(sql`UPDATE gh_emissions SET held_at = coalesce(held_at, CAST(${now} AS BIGINT)),
      problem = ${problem},
      held_by = substr(${declaration} || ' ' || held_by, 1, ${DECLARATIONS_MAX * 17})
    WHERE no = ${no}`)

interface HeldEmission {
  readonly id: string
  readonly scope: Scope
  readonly type: string
  readonly problem: string
  readonly held_at: number
}

/** Replaces the object of an emission that waits or is held. */
export const replaceEmittedObject = (tx: Tx, no: number, object: string) =>
  tx.run(sql`UPDATE gh_emissions SET object = ${object} WHERE no = ${no} AND expires_at IS NULL`)

/** Lists held emissions, the oldest first. */
export const listHeld = (from: Reader, limit: number) =>
  from.all<HeldEmission>(sql`SELECT id, scope, type, problem, held_at FROM gh_emissions
    WHERE held_at IS NOT NULL ORDER BY no LIMIT ${limit}`)

/** Counts held emissions, up to a bound, and those that wait since before an instant. */
export async function countEmissions(from: Reader, beforeMs: number, limit: number) {
  const row = await from.get(sql`SELECT
    (SELECT count(*) FROM (SELECT 1 FROM gh_emissions WHERE held_at IS NOT NULL LIMIT ${limit})
      AS h) AS held,
    (SELECT count(*) FROM (SELECT 1 FROM gh_emissions WHERE expires_at IS NULL AND held_at IS NULL
      AND created_at < ${beforeMs} LIMIT ${limit}) AS w) AS waiting`)
  return { held: Number(row!.held), waiting: Number(row!.waiting) }
}

/** Ends the wait of a held emission; undefined if none has the id. */
export async function discardHeld(tx: Tx, id: string) {
  const row = await tx.lock<{ no: number; scope: Scope; type: string }>(sql`SELECT no, scope, type
    FROM gh_emissions WHERE id = ${id} AND held_at IS NOT NULL`)
  if (row) endEmissions(tx, [row.no])
  return row
}
