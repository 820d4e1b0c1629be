/**
 * Faults of tables with which a node goes on: a unique index that the database has lost, and a
 * table that PostgreSQL does not log. Another program can cause them at any time.
 */

interface TableFaults {
  /** Unique indexes that the database has lost. */
  readonly lost: readonly string[]
  /** Tables and partitions whose rows a crash deletes, and no standby has. */
  readonly unlogged: readonly string[]
}

/** Names of one sentence. */
const NAMES_MAX = 5

/** Returns the first names of a list, and how many others there are. */
export function someOf(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_MAX).join(', ')
  const others = names.length - NAMES_MAX
  return others > 0 ? `${listed} and ${others} others` : listed
}

/** Returns a sentence for any caller, and one for operators; undefined without faults. */
export function describeTableFaults(
  { lost, unlogged }: TableFaults,
  definitions: ReadonlyMap<string, string>,
): { readonly message: string; readonly detail: string } | undefined {
  const sentences = [
    ...(lost.length > 0
      ? [
          [
            'The database lacks a unique index, so that writes fail.',
            `The database lacks the unique index ${someOf(lost)}, so that writes fail. Create it ` +
              `again: ${statementsOf(lost.map((name) => definitions.get(name) ?? name))}.`,
          ] as const,
        ]
      : []),
    ...(unlogged.length > 0
      ? [
          [
            'A table of the database is unlogged.',
            `${describeUnlogged(unlogged)} Repair it: ${repairUnlogged(unlogged)}.`,
          ] as const,
        ]
      : []),
  ]
  if (sentences.length === 0) return undefined
  return {
    message: sentences.map(([message]) => message).join(' '),
    detail: sentences.map(([, detail]) => detail).join(' '),
  }
}

/** Returns what unlogged tables lose. */
export const describeUnlogged = (tables: readonly string[]): string =>
  `The table ${someOf(tables)} is unlogged: a crash of the server deletes its rows, and no ` +
  'standby has them.'

/** Returns the statements that log the tables again. */
export const repairUnlogged = (tables: readonly string[]): string =>
  statementsOf(tables.map((name) => `ALTER TABLE ${name} SET LOGGED`))

const statementsOf = (statements: readonly string[]): string =>
  statements.slice(0, NAMES_MAX).join('; ')
