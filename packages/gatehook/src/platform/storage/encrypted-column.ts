/**
 * The description of an encrypted column, from which `platform/secrets/` rewrites the column when
 * the master secret rotates. Contains types only.
 */
import type { Value } from './database.ts'

export interface EncryptedColumn {
  /** The purpose that `vault.encrypt` receives. */
  readonly purpose: string
  readonly table: string
  /** The encrypted column; its value may be null. */
  readonly column: string
  /** The one or two columns of the primary key, in order. */
  readonly key: readonly [string] | readonly [string, string]
  /** Returns the row identifier that `vault.encrypt` receives, from the values of the key. */
  readonly rowOf: (key: readonly Value[]) => string
}
