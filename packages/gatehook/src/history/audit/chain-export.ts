/**
 * The chain as an export, and the verification of an export against the database (§18.5): restored
 * data has the first part of the chain that its original continued. Constant memory.
 */
import { type AuditRow, type ChainEnd, findBreak, isSameHash } from './chain.ts'
import * as store from './chain-store.ts'
import { authenticateEnd, type ChainDeps, ChainError } from './chain-writer.ts'

const PAGE_ROWS = 1000

/** Reads all rows of the chain in their order. */
export async function* readChain({ db, key }: ChainDeps): AsyncGenerator<AuditRow> {
  let { seq } = authenticateEnd(key, 'anchor', await store.readEnd(db, 'anchor'))
  for (;;) {
    const rows = await store.findRowsAfter(db, seq, Number.MAX_SAFE_INTEGER, PAGE_ROWS)
    yield* rows
    if (rows.length < PAGE_ROWS) return
    seq = rows.at(-1)!.seq!
  }
}

export interface ExportReport {
  readonly rows: number
  /** The last row that the database has too. */
  readonly sharedThrough: number
  readonly lastAt: number
}

/**
 * Verifies an export row by row. Throws `ChainError` for one that is broken, or that does not
 * continue the chain of this database.
 */
export async function verifyExport(
  { db, key }: ChainDeps,
  exported: AsyncIterable<AuditRow>,
): Promise<ExportReport> {
  const anchor = authenticateEnd(key, 'anchor', await store.readEnd(db, 'anchor'))
  const own = readChain({ db, key })
  let ownRow = (await own.next()).value as AuditRow | undefined
  let end: ChainEnd | undefined
  let [rows, sharedThrough, lastAt] = [0, 0, 0]
  for await (const row of exported) {
    if (!Number.isSafeInteger(row?.seq)) throw new ChainError(`Line ${rows + 1} is no audit row.`)
    end ??= { ...anchor, seq: row.seq! - 1, hash: String(row.previous_hash) }
    const reason = findBreak(key, row, end)
    if (reason)
      throw new ChainError(`The export is broken at row ${row.id} (${row.seq}): ${reason}.`)
    end = { ...end, seq: row.seq!, hash: row.hash! }
    while (ownRow && ownRow.seq! < row.seq!) ownRow = (await own.next()).value
    if (ownRow?.seq === row.seq && isSameHash(ownRow.hash, row.hash!)) sharedThrough = row.seq!
    rows++
    lastAt = row.at
  }
  if (sharedThrough === 0) {
    throw new ChainError('The export does not continue the audit trail of this database.')
  }
  return { rows, sharedThrough, lastAt }
}
