/**
 * Commits of PostgreSQL that a replica confirms (`GATEHOOK_DURABILITY=replica`, §18.3). Each is a
 * round trip of its own.
 */
import type pg from 'pg'
import { COMMIT_POSITION, type CommitPosition } from './commit-position.ts'
import { DurabilityLostError, UnreplicatedError } from './postgres-errors.ts'
import { SYNCHRONOUS_STANDBYS } from './server-check.ts'

/** The message of pg for a query that exceeds `query_timeout`. */
const TIMEOUT_TEXT = 'Query read timeout'
/** The time that a replica has to confirm a commit; `statement_timeout` does not end the wait. */
const REPLICA_MS = 10_000

const NO_STANDBY = 'no synchronous standby'
/**
 * Fails, so that the server does not execute a COMMIT behind it, if the transaction has changed
 * something and the server waits for no standby, or for one that is away: the commit would keep its
 * locks meanwhile. The cast is not a constant expression.
 */
const REQUIRE_STANDBY = `SELECT CAST(CASE WHEN (${SYNCHRONOUS_STANDBYS.sql}) = ''
  AND pg_current_xact_id_if_assigned() IS NOT NULL THEN '${NO_STANDBY}' ELSE '1' END AS int)`

/**
 * Commits, and waits for a replica. When an administrator ends the wait, the server reports success
 * with a warning.
 */
export async function commitReplicated(
  session: pg.ClientBase,
  commits: CommitPosition | undefined,
): Promise<void> {
  let warning: string | undefined
  const onNotice = ({ message }: { readonly message?: string | undefined }) => {
    warning = message ?? 'a warning'
  }
  session.on('notice', onNotice)
  try {
    const texts = [REQUIRE_STANDBY, 'COMMIT', ...(commits ? [COMMIT_POSITION.text] : [])]
    const query = { text: texts.join('; '), query_timeout: REPLICA_MS }
    const results = await session.query(query as pg.QueryConfig).catch((error: Error) => {
      if (error.message.includes(NO_STANDBY)) throw new DurabilityLostError(error.message)
      throw error.message === TIMEOUT_TEXT ? new UnreplicatedError(error.message) : error
    })
    commits?.note((results as unknown as pg.QueryResult[]).at(-1)!.rows[0])
  } finally {
    session.removeListener('notice', onNotice)
  }
  if (warning !== undefined) throw new UnreplicatedError(warning)
}
