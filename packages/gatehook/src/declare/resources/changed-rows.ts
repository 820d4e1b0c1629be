/** The rows whose rules run in a transaction: an action on one of them would undo its change. */
import type { RowId } from '../../kernel/row-id.ts'
import type { Tx } from '../../platform/storage/database.ts'

const rowsByTx = new WeakMap<Tx, string[]>()
const nameOf = ({ name }: { readonly name: string }, id: RowId): string => `${name} ${id}`

/** Begins the rules of a row, and returns the function that ends them. */
export function enterRow(
  tx: Tx,
  resource: { readonly name: string },
  id: RowId | undefined,
): () => void {
  if (id === undefined) return () => {}
  const rows = rowsByTx.get(tx) ?? []
  rowsByTx.set(tx, rows)
  rows.push(nameOf(resource, id))
  return () => void rows.pop()
}

/** Throws for a row whose rules run. */
export function requireOtherRow(
  tx: Tx,
  resource: { readonly name: string },
  id: RowId,
  source: string,
): void {
  if (!rowsByTx.get(tx)?.includes(nameOf(resource, id))) return
  throw new Error(`${source}: a rule cannot act on its own row; return values instead`)
}
