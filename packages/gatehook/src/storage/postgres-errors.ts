/** PostgreSQL's SQLSTATEs and the network's codes, made into the errors of the seam. Pure. */
import { Failure } from '../kernel/failure.ts'
import { ConstraintError } from './database.ts'
import { MOVED_MESSAGE, moved, unavailable } from './transaction.ts'

interface PostgresError extends Error {
  readonly code?: string
  readonly constraint?: string
}

/** The connection is gone, or was never there; the next one may well work. */
const LOST = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])
/** 57P01–57P05: the server ends sessions, or starts up. 08: connection exceptions. */
const LOST_STATE = /^(08|57P0)/
/** What pg says about a broken connection has no code. */
const LOST_TEXT = /^(Connection terminated|Client (has encountered|was closed)|timeout exceeded)/
/** 53 resources, 58 I/O, 57014 timeout, 25006 standby, 25P03 idle, 55000 closed, XX00x damage. */
const UNAVAILABLE = /^(53|58|57014|25006|25P03|25P04|55000|55P03|XX00)/
/** Text or numbers this database cannot hold; on the way in they are a caller's. */
const UNSTORABLE = new Set(['22001', '22003', '22021', '22P02', '22P03', '22P05', '54000'])
/** Serialization failure, deadlock: the transaction did nothing and may be run again. */
const AGAIN = new Set(['40001', '40P01'])

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as PostgresError
  return typeof code === 'string' ? code : ''
}

export const isLost = (error: unknown): boolean =>
  LOST.has(codeOf(error)) ||
  LOST_STATE.test(codeOf(error)) ||
  (error instanceof Error && LOST_TEXT.test(error.message))

/**
 * A node added a column while this connection had `SELECT *` prepared: the statement is of no use
 * any more, a fresh connection is.
 */
export const isStalePlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && (error as Error).message.startsWith('cached plan')

/** The statement ran over `statement_timeout`; `translate` puts the server's error in `detail`. */
export const isTimeout = (error: unknown): boolean =>
  codeOf(error instanceof Failure ? error.detail : error) === '57014'

export const mayRunAgain = (error: unknown): boolean =>
  AGAIN.has(codeOf(error)) || isStalePlan(error)

/** `error` as the seam names it; whatever is not the database's stays as it is. */
export function translate(error: unknown): unknown {
  if (error instanceof Failure || error instanceof ConstraintError) return error
  const code = codeOf(error)
  if (code === '25006' && (error as Error).message === MOVED_MESSAGE) return moved(error)
  if (code === '23505') {
    return new ConstraintError('unique', (error as PostgresError).constraint, error)
  }
  if (code === '23503' || code === '23001') {
    return new ConstraintError('reference', (error as PostgresError).constraint, error)
  }
  if (UNSTORABLE.has(code)) {
    return new Failure('invalid_request', 'A value cannot be stored.', { detail: error })
  }
  if (isLost(error) || UNAVAILABLE.test(code) || AGAIN.has(code)) return unavailable(error)
  return error
}
