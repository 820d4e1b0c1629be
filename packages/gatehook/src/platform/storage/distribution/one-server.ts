/** The requirement of features that tables on several servers lack (decision 0059). */
import type { Database } from '../database.ts'

/** Throws the error if the tables are distributed over several servers. */
export function requireOneServer(
  { dialect }: Pick<Database, 'dialect'>,
  createError: () => Error,
): void {
  if (dialect.distributed) throw createError()
}
