/**
 * A dry run: the transaction of a change, rolled back. The caller gets the response, and nothing is
 * stored (RFC 7240: `Prefer: dry-run`). `perform.ts` runs it.
 */
import type { Call } from '../http/call.ts'
import { parameterFailure } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { Tx } from '../storage/database.ts'

/** The parameter that requests a dry run where a client cannot set headers. */
const DRY_RUN_PARAMETER = 'dry_run'

const QUOTED = /"(?:[^"\\]|\\.)*"/g

/** Returns whether the request has the preference `dry-run`. Other preferences are ignored. */
export function prefersDryRun({ headers }: Pick<Call, 'headers'>): boolean {
  const { prefer } = headers
  if (prefer === undefined) return false
  const preferences = String(prefer).replace(QUOTED, '').split(',')
  return preferences.some((text) => text.split(';', 1)[0]!.trim().toLowerCase() === 'dry-run')
}

/** Returns whether the request has `?dry_run=true`. Throws `invalid_parameter` for other values. */
export function hasDryRunParameter({ query }: Pick<Call, 'query'>): boolean {
  const text = query.get(DRY_RUN_PARAMETER)
  if (text === undefined || text === 'false') return false
  if (text === 'true' && !query.repeated().includes(DRY_RUN_PARAMETER)) return true
  throw parameterFailure('invalid_parameter', DRY_RUN_PARAMETER, 'must be true or false')
}

/** The result of a change that was rolled back, or its failure. */
type Rehearsal<T> = { readonly value: T } | { readonly failure: Failure }

/** Ends the savepoint of a dry run. */
class RolledBack extends Error {}

/**
 * Runs the change in a savepoint, and undoes it. Its `afterCommit` actions never run. A failure is
 * returned: thrown after a statement, it would repeat the transactions of the same batch.
 */
export async function rehearse<T>(tx: Tx, change: () => Promise<T>): Promise<Rehearsal<T>> {
  let result: Rehearsal<T> | undefined
  try {
    await tx.attempt(async () => {
      result = { value: await change() }
      throw new RolledBack()
    })
  } catch (error) {
    if (error instanceof Failure) return { failure: error }
    if (!(error instanceof RolledBack)) throw error
  }
  return result!
}
