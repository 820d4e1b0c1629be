/** The rows of the stream that a loaded list does not have. Pure. */
import type { RequestRow } from '../api-shapes.ts'

type LoggedRow = Pick<RequestRow, 'id' | 'at'>

/**
 * Returns the rows that a list lacks although they are not older than its last one: they arrived
 * while it loaded, or before the server had stored them.
 */
export function rowsMissingIn<R extends LoggedRow>(
  list: readonly LoggedRow[],
  rows: readonly R[],
): readonly R[] {
  const listed = new Set(list.map(({ id }) => id))
  const oldest = list.at(-1)?.at ?? ''
  return rows.filter(({ id, at }) => !listed.has(id) && at >= oldest)
}
