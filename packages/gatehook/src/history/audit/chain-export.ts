/**
 * The chain as an export, and the verification of an export against the database (§18.5): restored
 * data has the first part of the chain that its original continued. The last line of an export
 * says where it ends, so that a cut export is no complete one. Constant memory.
 */
import { type AuditRow, type ChainEnd, type ExportEnd, findBreak, isSameHash } from './chain.ts'
import * as store from './chain-store.ts'
import { authenticateEnd, type ChainDeps, ChainError } from './chain-writer.ts'

const PAGE_ROWS = 1000

/** The last line. */
interface EndLine {
  readonly export_end: ExportEnd
  readonly mac: string
}

export type ExportLine = AuditRow | EndLine

const isEndLine = (line: ExportLine): line is EndLine =>
  (line as Partial<EndLine> | null)?.export_end != null

/** Reads the rows of the chain through `end`, in their order. */
async function* readChain({ db, key }: ChainDeps, end: ChainEnd): AsyncGenerator<AuditRow> {
  let { seq } = authenticateEnd(key, 'anchor', await store.readEnd(db, 'anchor'))
  while (seq < end.seq) {
    const rows = await store.findRowsAfter(db, seq, end.seq, PAGE_ROWS)
    yield* rows
    if (rows.length === 0) return
    seq = rows.at(-1)!.seq!
  }
}

const readHead = async ({ db, key }: ChainDeps): Promise<ChainEnd> =>
  authenticateEnd(key, 'head', await store.readEnd(db, 'head'))

/**
 * Yields the rows of the chain and its end.
 *
 * @param appendedAt - the instant through which committed rows are in the chain; undefined if none
 *   can be appended: the export then covers the trail through its last row
 */
export async function* exportChain(
  deps: ChainDeps,
  appendedAt: number | undefined,
): AsyncGenerator<ExportLine> {
  const { seq, hash } = await readHead(deps)
  let last: AuditRow | undefined
  let rows = 0
  for await (const row of readChain(deps, { seq, hash, untaggedThrough: 0 })) {
    yield row
    last = row
    rows++
  }
  if (!last || last.seq !== seq || !isSameHash(last.hash, hash)) {
    throw new ChainError('The last row is not the head of the audit chain: gatehook audit verify')
  }
  const end = { rows, seq, hash, at: Math.max(last.at, appendedAt ?? 0) }
  yield { export_end: end, mac: deps.key.exportMac(end) }
}

export interface ExportReport {
  readonly rows: number
  /** The last row that the database has too. */
  readonly sharedThrough: number
  readonly last: AuditRow
  /** Undefined if the export was cut. */
  readonly end: ExportEnd | undefined
}

/**
 * Verifies an export line by line. Throws `ChainError` for one that is broken, that does not
 * continue the chain of this database, or that lacks a row with the hash `expect`.
 */
export async function verifyExport(
  deps: ChainDeps,
  exported: AsyncIterable<ExportLine>,
  expect?: string,
): Promise<ExportReport> {
  const { db, key } = deps
  const anchor = authenticateEnd(key, 'anchor', await store.readEnd(db, 'anchor'))
  const own = readChain(deps, await readHead(deps))
  let ownRow = (await own.next()).value as AuditRow | undefined
  let last: AuditRow | undefined
  let end: ExportEnd | undefined
  let [rows, sharedThrough] = [0, 0]
  let isExpected = expect === undefined
  for await (const line of exported) {
    if (end) throw new ChainError(`Line ${rows + 2} follows the end of the export.`)
    if (last && isEndLine(line)) {
      end = authenticateExport(deps, line, { rows, last })
      continue
    }
    const row = line as AuditRow
    if (!Number.isSafeInteger(row?.seq)) throw new ChainError(`Line ${rows + 1} is no audit row.`)
    const { seq, hash } = last ?? { seq: row.seq! - 1, hash: String(row.previous_hash) }
    const reason = findBreak(key, row, { ...anchor, seq: seq!, hash: hash! })
    if (reason)
      throw new ChainError(`The export is broken at row ${row.id} (${row.seq}): ${reason}.`)
    while (ownRow && ownRow.seq! < row.seq!) ownRow = (await own.next()).value
    if (ownRow?.seq === row.seq && isSameHash(ownRow.hash, row.hash!)) sharedThrough = row.seq!
    rows++
    last = row
    isExpected ||= row.hash === expect
  }
  if (!last || sharedThrough === 0) {
    throw new ChainError('The export does not continue the audit trail of this database.')
  }
  if (!isExpected) throw new ChainError('The expected hash is not in the export: it ends before.')
  return { rows, sharedThrough, last, end }
}

/** Returns the end of an export that has these rows. Throws `ChainError` for another one. */
function authenticateExport(
  { key }: ChainDeps,
  { export_end: end, mac }: EndLine,
  { rows, last }: Pick<ExportReport, 'rows' | 'last'>,
): ExportEnd {
  if (typeof mac !== 'string' || !isSameHash(mac, key.exportMac(end))) {
    throw new ChainError('The end of the export was changed, or was not written by the service.')
  }
  if (end.rows !== rows || end.seq !== last.seq || !isSameHash(end.hash, last.hash!)) {
    throw new ChainError(`The export has ${rows} rows; its end says ${end.rows}.`)
  }
  return end
}
