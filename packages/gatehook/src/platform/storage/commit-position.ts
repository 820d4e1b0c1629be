/**
 * The position of the last commit of this process in the log of PostgreSQL. Each commit reads it in
 * its own round trip: a later statement would not arrive if the database or its pooler hangs then.
 */
import type { Statement } from './database.ts'
import { parseLogPosition } from './log-position.ts'

/**
 * Behind a commit, it returns a position that includes the commit, unless that is `unsynced`. A
 * later position, which is not on disk yet, may never reach a standby.
 */
export const COMMIT_POSITION: Statement = {
  sql: '',
  text: 'SELECT pg_current_wal_flush_lsn()::text AS position',
  values: [],
}

export interface CommitPosition {
  /** Notes the row of `COMMIT_POSITION` behind a commit. */
  note(row: { readonly position: string }): void
  /** Returns a position that includes the commits of this process; 0 before the first one. */
  last(): bigint
}

export function createCommitPosition(): CommitPosition {
  let last = 0n
  return {
    note(row) {
      const position = parseLogPosition(row.position) ?? 0n
      if (position > last) last = position
    },
    last: () => last,
  }
}
