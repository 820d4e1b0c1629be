/**
 * What a module states about a column that it encrypts, so that a rotation of the master secret
 * (`secrets/`) can rewrite it. Types only.
 */
import type { Value } from './database.ts'

export interface SealedColumn {
  /** As given to `vault.seal`. */
  readonly purpose: string
  readonly table: string
  /** May be null. */
  readonly column: string
  /** The columns of the primary key, one or two, in its order. */
  readonly key: readonly [string] | readonly [string, string]
  /** The row as given to `vault.seal`, from the values of the key. */
  readonly rowOf: (key: readonly Value[]) => string
}
