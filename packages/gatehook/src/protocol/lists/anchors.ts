/**
 * The positions from which lists continue, in both directions (§7.6).
 *
 * In the order of commits, a row can become visible behind rows that a page has returned, if its
 * transaction was open then. An anchor towards newer rows thus has the transactions that were open
 * at the read: the next page begins with their rows, so that it skips, repeats and delays none. It
 * is `[transaction, position]`, and then `[open transactions, transaction, position]`, where the
 * last two are a row of a late transaction that may have further ones. Pure.
 */
import type { Value } from '../../platform/storage/database.ts'
import type { Key } from './cursor.ts'
import { isDescending, isInCommitOrder, selectedColumns, type Walk } from './walk.ts'

type Anchor = readonly Key[]
type ListedRow = readonly Value[]

/** The newest open transactions that an anchor has: those of nodes are short, and among them. */
const OPEN_MAX = 256
/** The anchor of all rows. */
const BEGINNING: Anchor = [0, 0]

/** The edge of a page from which the opposite direction continues. */
interface PageEdge {
  readonly keys: Anchor
  readonly isInclusive: boolean
}

export interface Anchors {
  /** Notes the anchor of the statement that read the rows. */
  note(rows: readonly ListedRow[], from: Anchor | undefined): void
  /** Returns the anchor after a row, in the direction of the walk. */
  after(row: ListedRow): Anchor
  /** Returns the edge at the first row that was read; of an empty page, its former position. */
  edge(first: ListedRow | undefined): PageEdge
}

/** Returns a function that returns the sort keys of a row. */
export function keysOf(walk: Walk) {
  const columns = selectedColumns(walk)
  const at = walk.sort.map((key) => columns.indexOf(key.column))
  return (row: ListedRow): Key[] => at.map((index) => row[index] as Key)
}

export function createAnchors(walk: Walk): Anchors {
  const keys = keysOf(walk)
  if (!isInCommitOrder(walk)) {
    return {
      note() {},
      after: keys,
      edge: (first) =>
        first
          ? { keys: keys(first), isInclusive: false }
          : { keys: walk.anchor!, isInclusive: true },
    }
  }
  const openAt = selectedColumns(walk).indexOf(walk.collection.commits!.open)
  const begins = new WeakMap<ListedRow, Anchor>()
  const towardsNewer = (row: ListedRow, from: Anchor | undefined) =>
    anchorTowardsNewer(from, keys(row), row[openAt] as Key)
  if (isDescending(walk, walk.sort[0]!)) {
    return {
      note() {},
      after: keys,
      edge: (first) =>
        first
          ? { keys: towardsNewer(first, undefined), isInclusive: false }
          : { keys: BEGINNING, isInclusive: true },
    }
  }
  return {
    note(rows, from) {
      if (from) for (const row of rows) begins.set(row, from)
    },
    after: (row) => towardsNewer(row, begins.get(row) ?? walk.anchor),
    // Rows of open transactions are far from the others: the page before has its former end.
    edge: (first) =>
      first && !isLate(walk.anchor, keys(first))
        ? { keys: keys(first), isInclusive: false }
        : { keys: walk.anchor!.slice(0, 2), isInclusive: true },
  }
}

/** Whether the transaction of a row was open when the anchor was created. */
const isLate = (anchor: Anchor | undefined, row: Anchor): boolean =>
  anchor !== undefined && Number(row[0]) < Number(anchor[0])

/**
 * Returns the anchor after a row, towards newer ones. `from`: the anchor of the statement that read
 * it; `open`: the transactions that were open then.
 */
export function anchorTowardsNewer(from: Anchor | undefined, row: Anchor, open: Key): Anchor {
  const txid = Number(row[0])
  const openIds = idsOf(open)
  if (!isLate(from, row)) {
    const newest = openIds
      .filter((id) => id < txid)
      .sort((a, b) => b - a)
      .slice(0, OPEN_MAX)
    return newest.length === 0 ? row : [...row, textOf(newest), 0, 0]
  }
  const [endTxid, endPosition, late, begunTxid] = from as readonly Key[]
  const isLeft = (id: number) => id > txid || openIds.includes(id)
  const left = txid === Number(begunTxid) ? idsOf(late) : idsOf(late).filter(isLeft)
  return [endTxid!, endPosition!, textOf(left), ...row]
}

const idsOf = (text: Key | undefined): number[] =>
  typeof text === 'string' ? text.split(/[{},]/).filter(Boolean).map(Number) : []

const textOf = (ids: readonly number[]): string => `{${ids.join(',')}}`
