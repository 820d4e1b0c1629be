/** Decrypts the values of encrypted columns with the present master secret. */
import type { OnPart } from '../../kernel/pace.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { listHeads, readValue, type ValueHead } from './encrypted-columns.ts'

const PAGE_ROWS = 500

export interface DecryptionReport {
  readonly values: number
  readonly unreadable: number
}

/** Checks at most `valuesMax` values, the first ones in the order of their keys. */
export async function checkDecryption(
  db: Database,
  vault: Vault,
  column: EncryptedColumn,
  valuesMax: number,
  onPart: OnPart,
): Promise<DecryptionReport> {
  let [values, unreadable] = [0, 0]
  for (let after: ValueHead['key'] | undefined; values < valuesMax; ) {
    const page = await listHeads(db, column, after, Math.min(PAGE_ROWS, valuesMax - values))
    for (const { key, head } of page) {
      const value = head && (await readValue(db, column, key))
      if (!value) continue
      values++
      if (vault.findKeyId(column.purpose, column.rowOf(key), value) === undefined) unreadable++
    }
    await onPart(values, valuesMax, 'values')
    if (page.length < PAGE_ROWS) break
    after = page.at(-1)!.key
  }
  return { values, unreadable }
}
