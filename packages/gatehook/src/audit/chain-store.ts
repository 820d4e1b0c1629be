/** SQL of the chain: its key, its two ends, rows to seal, to verify and to purge. */
import type { Reader, Row, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { fixed, raw, sql } from '../storage/sql.ts'
import type { AuditRow, ChainEnd, EndName } from './chain.ts'

/** The purpose the chain's key is sealed under, and its row. */
export const AUDIT_PURPOSE = 'audit'
export const KEY_ID = 'chain'

export const sealedAuditKeys: SealedColumn = {
  purpose: AUDIT_PURPOSE,
  table: 'gh_audit_keys',
  column: 'sealed',
  key: ['id'],
  rowOf: ([id]) => String(id),
}

interface EndRow extends Row {
  readonly seq: number
  readonly hash: string
  readonly untagged_through: number
  readonly mac: string
}

export interface StoredEnd extends ChainEnd {
  readonly mac: string
}

const COLUMNS = `position, id, at, actor_kind, actor_id, actor_name, address, request_id, action,
  target, detail, tag, seq, hash, previous_hash`

const endNamed = fixed('SELECT seq, hash, untagged_through, mac FROM gh_audit_chain WHERE name = ?')
const unsealed = fixed(
  `SELECT ${COLUMNS} FROM gh_audit WHERE seq IS NULL ORDER BY position LIMIT ?`,
)
const anyUnsealed = fixed('SELECT position FROM gh_audit WHERE seq IS NULL LIMIT 1')
const seal = fixed('UPDATE gh_audit SET seq = ?, hash = ?, previous_hash = ? WHERE position = ?')
const after = fixed(
  `SELECT ${COLUMNS} FROM gh_audit WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
)
const drop = fixed('DELETE FROM gh_audit WHERE seq <= ?')

const endOf = (row: EndRow | undefined): StoredEnd | undefined =>
  row && { seq: row.seq, hash: row.hash, untaggedThrough: row.untagged_through, mac: row.mac }

export const readEnd = async (from: Reader, name: EndName): Promise<StoredEnd | undefined> =>
  endOf(await from.get<EndRow>(endNamed([name])))

/** Writers of the chain come one after the other through the row of its head. */
export const lockHead = async (tx: Tx): Promise<StoredEnd | undefined> =>
  endOf(await tx.lock<EndRow>(endNamed(['head'])))

/** False where there is one already. */
export async function insertEnd(tx: Tx, name: EndName, end: StoredEnd): Promise<boolean> {
  const count = await tx.run(sql`INSERT INTO gh_audit_chain (name, seq, hash, untagged_through, mac)
    VALUES (${name}, ${end.seq}, ${end.hash}, ${end.untaggedThrough}, ${end.mac})
    ON CONFLICT (name) DO NOTHING`)
  return count === 1
}

export const updateEnd = (tx: Tx, name: EndName, end: StoredEnd) =>
  tx.run(sql`UPDATE gh_audit_chain SET seq = ${end.seq}, hash = ${end.hash},
    untagged_through = ${end.untaggedThrough}, mac = ${end.mac} WHERE name = ${name}`)

export async function readSealedKey(from: Reader): Promise<Uint8Array | undefined> {
  const row = await from.get(sql`SELECT sealed FROM gh_audit_keys WHERE id = ${KEY_ID}`)
  return row?.sealed as Uint8Array | undefined
}

/** The first of several processes that start at once decides. */
export const insertSealedKey = (tx: Tx, sealed: Uint8Array) =>
  tx.run(sql`INSERT INTO gh_audit_keys (id, sealed) VALUES (${KEY_ID}, ${sealed})
    ON CONFLICT (id) DO NOTHING`)

/** Rows there are, and the position of the newest. */
export async function countRows(from: Reader): Promise<{ rows: number; last: number }> {
  const row = await from.get(
    sql`SELECT COUNT(*) AS total, COALESCE(MAX(position), 0) AS last FROM gh_audit`,
  )
  return { rows: Number(row!.total), last: Number(row!.last) }
}

export const unsealedRows = (tx: Tx, most: number) => tx.all<AuditRow>(unsealed([most]))

export const hasUnsealed = async (from: Reader): Promise<boolean> =>
  (await from.get(anyUnsealed([]))) !== undefined

export const sealRow = (tx: Tx, row: AuditRow, seq: number, hash: string, previousHash: string) =>
  tx.run(seal([seq, hash, previousHash, row.position]))

/** The rows of the chain after a place, up to and including another. */
export const rowsAfter = (from: Reader, seq: number, through: number, most: number) =>
  from.all<AuditRow>(after([seq, through, most]))

export const dropThrough = (tx: Tx, seq: number) => tx.run(drop([seq]))

/** The time of the oldest row of the chain. */
export async function oldestAt(from: Reader): Promise<number | undefined> {
  const row = await from.get(
    sql`SELECT at FROM gh_audit WHERE seq IS NOT NULL ORDER BY seq LIMIT 1`,
  )
  return row?.at as number | undefined
}

/** The last of the rows of a stretch that come before the first one not older than `before`. */
export async function lastBefore(
  from: Reader,
  before: number,
  { after, through }: { readonly after: number; readonly through: number },
): Promise<Pick<ChainEnd, 'seq' | 'hash'> | undefined> {
  const young = await from.get(sql`SELECT MIN(seq) AS seq FROM gh_audit
    WHERE seq > ${after} AND seq <= ${through} AND at >= ${before}`)
  const last = young?.seq == null ? through : Number(young.seq) - 1
  return from.get(sql`SELECT seq, hash FROM gh_audit
    WHERE seq > ${after} AND seq <= ${last} ORDER BY seq DESC LIMIT 1`)
}

export const rowById = (tx: Tx, id: string) =>
  tx.get<AuditRow>(sql`SELECT ${raw(COLUMNS)} FROM gh_audit WHERE id = ${id}`)
