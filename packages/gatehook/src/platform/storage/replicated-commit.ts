/**
 * Commits of PostgreSQL that a replica confirms (`GATEHOOK_DURABILITY=replica`, §18.3). Each is a
 * round trip of its own.
 */
import type pg from 'pg'
import { COMMIT_POSITION, type CommitPosition } from './commit-position.ts'
import { DurabilityLostError, UnreplicatedError } from './durability-errors.ts'
import { isRolledBack, RolledBackError } from './rolled-back.ts'
import { SYNCHRONOUS_STANDBYS } from './server-check.ts'
import type { TableState } from './table-state.ts'

/** The message of pg for a query that exceeds `query_timeout`. */
const TIMEOUT_TEXT = 'Query read timeout'
/** The time that a replica has to confirm a commit; `statement_timeout` does not end the wait. */
const REPLICA_MS = 10_000

const NO_STANDBY = 'no synchronous standby'
const UNLOGGED = 'an unlogged table'
/**
 * Fails, so that the server does not execute a COMMIT behind it, if the transaction has changed
 * something and the condition is true. The cast is not a constant expression.
 */
const refuseIf = (condition: string, reason: string): string => `SELECT CAST(CASE WHEN ${condition}
  AND pg_current_xact_id_if_assigned() IS NOT NULL THEN '${reason}' ELSE '1' END AS int)`
/** The server waits for no standby, or for one that is away: the commit would keep its locks. */
const REQUIRE_STANDBY = refuseIf(`(${SYNCHRONOUS_STANDBYS.sql}) = ''`, NO_STANDBY)
/** No standby has what an unlogged table has. */
const REQUIRE_LOGGED = refuseIf('true', UNLOGGED)

/**
 * Commits, and waits for a replica. When an administrator ends the wait, the server reports success
 * with a warning.
 */
export async function commitReplicated(
  session: pg.ClientBase,
  commits: CommitPosition | undefined,
  { unlogged }: Pick<TableState, 'unlogged'>,
): Promise<void> {
  let warning: string | undefined
  const onNotice = ({ message }: { readonly message?: string | undefined }) => {
    warning = message ?? 'a warning'
  }
  session.on('notice', onNotice)
  try {
    const guard = unlogged.length > 0 ? REQUIRE_LOGGED : REQUIRE_STANDBY
    const texts = [guard, 'COMMIT', ...(commits ? [COMMIT_POSITION.text] : [])]
    const query = { text: texts.join('; '), query_timeout: REPLICA_MS }
    const results = await session.query(query as pg.QueryConfig).catch((error: Error) => {
      if (error.message.includes(NO_STANDBY)) throw new DurabilityLostError('lost')
      if (error.message.includes(UNLOGGED)) throw new DurabilityLostError('unlogged')
      throw error.message === TIMEOUT_TEXT ? new UnreplicatedError(error.message) : error
    })
    const [, commit, position] = results as unknown as pg.QueryResult[]
    if (isRolledBack('COMMIT', commit!)) throw new RolledBackError()
    commits?.note(position!.rows[0])
  } finally {
    session.removeListener('notice', onNotice)
  }
  if (warning !== undefined) throw new UnreplicatedError(warning)
}
