/** Transactions of a request outside of `perform`: without idempotency keys and dry runs. */
import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import type { Database } from '../../platform/storage/database.ts'

/** Returns `write` for a request, whose caller must still have its rights at its turn. */
export const writeFor =
  (authority: CallerAuthority, { write }: Pick<Database, 'write'>): Database['write'] =>
  (change, options) =>
    write(change, { ...options, authority })
