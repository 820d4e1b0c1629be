/**
 * A dry run: the transaction of a change, rolled back. The caller gets the response, and nothing is
 * stored (RFC 7240: `Prefer: dry-run`). `perform.ts` runs it.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call, Handling } from '../http/call.ts'
import { preferenceValues } from '../http/preferences.ts'
import { parameterFailure } from '../http/query.ts'

/** The parameter that requests a dry run where a client cannot set headers. */
export const DRY_RUN_PARAMETER = 'dry_run'

/** Returns whether the request has the preference `dry-run`. Throws for one with a value. */
export function prefersDryRun(call: Pick<Call, 'headers'>): boolean {
  const values = preferenceValues(call, 'dry-run')
  if (values.every((value) => value === '')) return values.length > 0
  throw new Failure('invalid_request', 'The preference dry-run has no value: Prefer: dry-run')
}

/** Throws for a dry run of an operation that has none: it would have an effect. */
function rejectDryRun(call: Pick<Call, 'headers' | 'query'>): void {
  if (call.query.has(DRY_RUN_PARAMETER)) {
    throw parameterFailure('unknown_parameter', DRY_RUN_PARAMETER, 'is not a parameter here')
  }
  if (preferenceValues(call, 'dry-run').length > 0) {
    throw new Failure('invalid_request', 'This operation has no dry run. It was not executed.')
  }
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

/** Returns the handler of an operation that has no dry run: a request for one is rejected. */
export const withoutDryRun =
  (handle: Handling['handle']): Handling['handle'] =>
  (call) => {
    rejectDryRun(call)
    return handle(call)
  }
