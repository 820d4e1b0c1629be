/** The encrypted columns of a table, which `secrets/` rewrites when the master secret rotates. */
import type { Encryption, Table } from './table.ts'

export interface EncryptedColumn extends Encryption {
  readonly table: string
  /** The encrypted column; its value may be null. */
  readonly column: string
  /** The columns of the primary key, in order. */
  readonly key: readonly string[]
}

export const encryptedColumns = ({ name, key, encrypted = {} }: Table): EncryptedColumn[] =>
  Object.entries(encrypted).map(([column, encryption]) => ({
    ...encryption,
    table: name,
    column,
    key,
  }))
