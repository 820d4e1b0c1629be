/**
 * Replaces a lost master secret. No secret decrypts the values that it encrypted: each of them is
 * deleted or replaced, in small transactions. An interrupted reset continues when it is run again,
 * because the new secret becomes the active one last.
 */
import type { Random } from '../../kernel/random.ts'
import { Vault } from '../../kernel/secret.ts'
import { listRunningNodes, NodesRunError, namesOf } from '../nodes/registry.ts'
import type { Database, Tx, Value } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { listHeads, readValue } from './encrypted-columns.ts'
import { createState, writeState } from './state.ts'

/** Rows of one transaction. */
const BATCH_ROWS = 100

/** A column, and the change of a row whose value no secret decrypts. */
export interface LostValues {
  readonly column: EncryptedColumn
  replace(tx: Tx, vault: Vault, key: readonly Value[]): Promise<unknown>
}

interface ResetDeps {
  readonly db: Database
  readonly random: Random
  readonly nowMs: number
  /** The secrets of this process, newest first. The newest one becomes the active one. */
  readonly secrets: readonly string[]
  readonly columns: readonly LostValues[]
}

export interface ResetResult {
  readonly key_id: string
  /** The values that were deleted or replaced, by table and column. */
  readonly values: Readonly<Record<string, number>>
}

/** Throws `NodesRunError` while nodes run: they have the secret, or use the values. */
export async function resetSecret(deps: ResetDeps): Promise<ResetResult> {
  const { db, random, nowMs, secrets, columns } = deps
  const nodes = await listRunningNodes(db, nowMs)
  if (nodes.length > 0) {
    throw new NodesRunError(
      `Nodes run: ${namesOf(nodes)}. If one was started with the secret, it is not lost: its ` +
        'environment has it. Else end them first. (A node that was killed counts for 45 s.)',
    )
  }
  const vault = new Vault(secrets, random)
  const values: Record<string, number> = {}
  for (const lost of columns) {
    const { table, column } = lost.column
    values[`${table}.${column}`] = await replaceLost(db, vault, lost)
  }
  await db.write((tx) => writeState(tx, createState(secrets[0]!, random)))
  return { key_id: vault.keyId, values }
}

/** Returns the number of values that were replaced. */
async function replaceLost(db: Database, vault: Vault, lost: LostValues): Promise<number> {
  const { column } = lost
  let count = 0
  let after: readonly Value[] | undefined
  for (;;) {
    const page = await listHeads(db, column, after, BATCH_ROWS)
    count += await db.write(async (tx) => {
      let replaced = 0
      for (const { key, head } of page) {
        const value = head && (await readValue(tx, column, key))
        if (!value) continue
        if (vault.findKeyId(column.purpose, column.rowOf(key), value) !== undefined) continue
        await lost.replace(tx, vault, key)
        replaced++
      }
      return replaced
    })
    if (page.length < BATCH_ROWS) return count
    after = page.at(-1)!.key
  }
}
