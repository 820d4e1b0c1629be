/**
 * Locks of rows in reference tables. Citus locks the whole table for `FOR UPDATE` and for
 * `FOR KEY SHARE`, and for the latter in two steps, so that two transactions at once end in a
 * deadlock. An advisory lock of the coordinator, where all transactions begin, has one step.
 */

/** The first key of the locks: 'refr' in ASCII. */
const CLASS = 0x72656672

/**
 * Returns the statement that takes the lock of the table of a text before its rows are read;
 * undefined for a table whose rows are locked themselves.
 */
export function referenceLock(
  text: string,
  kind: 'update' | 'change' | 'share',
  referenceTables: ReadonlySet<string>,
): string | undefined {
  const table = /\bFROM (gh_\w+)/.exec(text)?.[1]
  if (table === undefined || !referenceTables.has(table)) return undefined
  const suffix = kind === 'share' ? '_shared' : ''
  const key = `hashtext(current_schema() || '.${table}')`
  return `SELECT pg_advisory_xact_lock${suffix}(${CLASS}, ${key})`
}
