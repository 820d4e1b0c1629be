/**
 * The findings of the last check of the tables (`declare/resources/schema-check.ts`), for the
 * transactions of the process: the check is at most a minute old.
 */
export interface TableState {
  /** Tables and partitions that PostgreSQL does not log: no standby has their rows. */
  unlogged: readonly string[]
  /** Tables of resources with triggers, which can change what a statement stores. */
  triggered: ReadonlySet<string>
  /** Whether a trigger or a rule can discard rows of the engine before they are stored. */
  discardsRows: boolean
}

export const createTableState = (): TableState => ({
  unlogged: [],
  triggered: new Set(),
  discardsRows: false,
})
