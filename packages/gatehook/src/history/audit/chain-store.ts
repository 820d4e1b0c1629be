/** SQL of the hash chain: its key, its two ends, and the rows to append, verify and purge. */
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { bytesOf, countFitting } from '../../platform/storage/page-bytes.ts'
import {
  join,
  type PreparedStatement,
  prepareStatement,
  raw,
  sql,
} from '../../platform/storage/sql.ts'
import { type AuditRow, type ChainEnd, type ClearingGrant, type EndName, REMOVED } from './chain.ts'
import type { DetailReplacement } from './store.ts'

/** The id of the row of the chain's key. */
export const KEY_ID = 'chain'

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
  target, scope, detail, node, salt, digest, tag, cleared, seq, hash, previous_hash`

const endByName = prepareStatement(
  'SELECT seq, hash, untagged_through, mac FROM gh_audit_chain WHERE name = ?',
)
/** Callers choose the lengths of these columns. */
const BYTES = bytesOf(
  ['actor_id', 'actor_name', 'target', 'detail'].map((name) => ({ name, type: 'text' })),
)

/** A page of rows: the statements of their bytes and of the rows, whose last value is the limit. */
interface AuditPage {
  readonly bytes: PreparedStatement
  readonly rows: PreparedStatement
}

const pageOf = (conditions: string): AuditPage => {
  const rest = `FROM gh_audit WHERE ${conditions} LIMIT ?`
  return {
    bytes: prepareStatement(`SELECT ${BYTES.postgres} ${rest}`, `SELECT ${BYTES.sqlite} ${rest}`),
    rows: prepareStatement(`SELECT ${COLUMNS} ${rest}`),
  }
}

const unchainedRows = pageOf('seq IS NULL ORDER BY position')
const anyUnchained = prepareStatement('SELECT position FROM gh_audit WHERE seq IS NULL LIMIT 1')
const link = prepareStatement(
  'UPDATE gh_audit SET seq = ?, hash = ?, previous_hash = ? WHERE position = ?',
)
const afterSeq = pageOf('seq > ? AND seq <= ? ORDER BY seq')
const deleteThrough = prepareStatement('DELETE FROM gh_audit WHERE seq <= ?')

const toStoredEnd = (row: EndRow | undefined): StoredEnd | undefined =>
  row && { seq: row.seq, hash: row.hash, untaggedThrough: row.untagged_through, mac: row.mac }

export const readEnd = async (from: Reader, name: EndName): Promise<StoredEnd | undefined> =>
  toStoredEnd(await from.get<EndRow>(endByName([name])))

/** Locks the head's row, so that one transaction at a time appends to the chain. */
export const lockHead = async (tx: Tx): Promise<StoredEnd | undefined> =>
  toStoredEnd(await tx.lock<EndRow>(endByName(['head'])))

/** Returns false if the end exists already. */
export async function insertEnd(tx: Tx, name: EndName, end: StoredEnd): Promise<boolean> {
  const count = await tx.run(sql`INSERT INTO gh_audit_chain (name, seq, hash, untagged_through, mac)
    VALUES (${name}, ${end.seq}, ${end.hash}, ${end.untaggedThrough}, ${end.mac})
    ON CONFLICT (name) DO NOTHING`)
  return count === 1
}

export const updateEnd = (tx: Tx, name: EndName, end: StoredEnd) =>
  tx.run(sql`UPDATE gh_audit_chain SET seq = ${end.seq}, hash = ${end.hash},
    untagged_through = ${end.untaggedThrough}, mac = ${end.mac} WHERE name = ${name}`)

export async function readEncryptedKey(from: Reader): Promise<Uint8Array | undefined> {
  const row = await from.get(sql`SELECT encrypted FROM gh_audit_keys WHERE id = ${KEY_ID}`)
  return row?.encrypted as Uint8Array | undefined
}

/** Does nothing if another process has stored a key first. */
export const insertEncryptedKey = (tx: Tx, encryptedKey: Uint8Array) =>
  tx.run(sql`INSERT INTO gh_audit_keys (id, encrypted) VALUES (${KEY_ID}, ${encryptedKey})
    ON CONFLICT (id) DO NOTHING`)

/** Returns the number of rows and the position of the newest. */
export async function countRows(from: Reader): Promise<{ rows: number; last: number }> {
  const row = await from.get(
    sql`SELECT COUNT(*) AS total, COALESCE(MAX(position), 0) AS last FROM gh_audit`,
  )
  return { rows: Number(row!.total), last: Number(row!.last) }
}

/** Returns the first rows: at most `limit`, as many as fit into a page of bytes. */
async function readPage(
  from: Reader,
  page: AuditPage,
  values: readonly number[],
  limit: number,
): Promise<AuditRow[]> {
  const sizes = await from.arrays(page.bytes([...values, limit]))
  const count = countFitting(sizes.map(([bytes]) => Number(bytes)))
  return count === 0 ? [] : from.all<AuditRow>(page.rows([...values, count]))
}

export const findUnchainedRows = (tx: Tx, limit: number) => readPage(tx, unchainedRows, [], limit)

export const hasUnchainedRows = async (from: Reader): Promise<boolean> =>
  (await from.get(anyUnchained([]))) !== undefined

export const linkRow = (tx: Tx, row: AuditRow, seq: number, hash: string, previousHash: string) =>
  tx.run(link([seq, hash, previousHash, row.position]))

/** Returns the rows of some positions that have names or details. */
export const findUncleared = (tx: Tx, positions: readonly number[]) =>
  tx.all<AuditRow>(sql`SELECT ${raw(COLUMNS)} FROM gh_audit
    WHERE position IN (${join(positions)}) AND (salt IS NOT NULL OR actor_name IS NOT NULL
      OR address IS NOT NULL OR detail <> ${REMOVED.detail})`)

/** Returns whether the trail has the end of an erasure. An id of a customer is never used again. */
export async function isErasureEnded(
  from: Reader,
  { action, target, cause }: ClearingGrant,
): Promise<boolean> {
  const end = action === 'person.erase' ? 'person.erased' : 'customer.deleted'
  const ends = await from.all(sql`SELECT detail FROM gh_audit
    WHERE target = ${target} AND action = ${end}`)
  // A deletion of the customer removes the details.
  const causes = ends.map(({ detail }) => JSON.parse(String(detail)).cause)
  return causes.some((ended) => ended === undefined || ended === cause)
}

/** Returns the rows with some ids. */
export const findRowsById = (from: Reader, ids: readonly string[]) =>
  from.all<AuditRow>(sql`SELECT ${raw(COLUMNS)} FROM gh_audit WHERE id IN (${join(ids)})`)

export const storeClearing = (tx: Tx, position: number, proof: string) =>
  tx.runLater(sql`UPDATE gh_audit SET cleared = ${proof} WHERE position = ${position}`)

export const storeDetail = (tx: Tx, { position, detail }: DetailReplacement) =>
  tx.run(sql`UPDATE gh_audit SET detail = ${detail}, salt = NULL WHERE position = ${position}`)

/** Returns a page of the rows after `seq`, up to and including `through`. */
export const findRowsAfter = (from: Reader, seq: number, through: number, limit: number) =>
  readPage(from, afterSeq, [seq, through], limit)

export const deleteRowsThrough = (tx: Tx, seq: number) => tx.run(deleteThrough([seq]))

/** Returns the hash of a row of the chain; undefined if it is purged or missing. */
export async function findHashOf(from: Reader, seq: number): Promise<string | undefined> {
  const row = await from.get(sql`SELECT hash FROM gh_audit WHERE seq = ${seq}`)
  return row?.hash as string | undefined
}

/** Returns the time of the oldest row of the chain, in epoch milliseconds. */
export async function findOldestTime(from: Reader): Promise<number | undefined> {
  const row = await from.get(
    sql`SELECT at FROM gh_audit WHERE seq IS NOT NULL ORDER BY seq LIMIT 1`,
  )
  return row?.at as number | undefined
}

/** Returns the last row of a range before the first row that is as young as `beforeMs`. */
export async function findLastRowBefore(
  from: Reader,
  beforeMs: number,
  { after, through }: { readonly after: number; readonly through: number },
): Promise<Pick<ChainEnd, 'seq' | 'hash'> | undefined> {
  const firstYoung = await from.get(sql`SELECT MIN(seq) AS seq FROM gh_audit
    WHERE seq > ${after} AND seq <= ${through} AND at >= ${beforeMs}`)
  const last = firstYoung?.seq == null ? through : Number(firstYoung.seq) - 1
  return from.get(sql`SELECT seq, hash FROM gh_audit
    WHERE seq > ${after} AND seq <= ${last} ORDER BY seq DESC LIMIT 1`)
}

export const findRowById = (tx: Tx, id: string) =>
  tx.get<AuditRow>(sql`SELECT ${raw(COLUMNS)} FROM gh_audit WHERE id = ${id}`)
