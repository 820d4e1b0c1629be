/** PostgreSQL answers the COMMIT of an aborted transaction with success, and another tag. */
import type pg from 'pg'

export class RolledBackError extends Error {
  constructor() {
    super('bug: the transaction was aborted before its COMMIT')
  }
}

/** Whether a COMMIT has stored nothing. */
export const isRolledBack = (text: string, { command }: Pick<pg.QueryResult, 'command'>): boolean =>
  text === 'COMMIT' && command !== 'COMMIT'
