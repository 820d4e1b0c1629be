/** Transactions of a request outside of `perform`: without idempotency keys and dry runs. */
import type { Database } from '../../platform/storage/database.ts'
import type { Call } from './call.ts'
import { ownerOf } from './owner.ts'

/**
 * Returns `write` for a request, whose caller must still have its rights at its turn. It shares the
 * connections of its group, which strangers have together.
 */
export const writeFor =
  (
    call: Pick<Call, 'principal' | 'address' | 'hasOldAuthority' | 'requireAuthority'>,
    { write }: Pick<Database, 'write'>,
  ): Database['write'] =>
  (change, options) => {
    const { group: customer, caller } = ownerOf(call)
    return write(change, { ...{ customer, caller }, ...options, authority: call })
  }
