/**
 * Texts that count once, on all nodes and after a crash: the `jti` of assertions (§16.7, §16.8),
 * the challenges of passkeys (§16.12). Their hash is stored until they expire. Restored data lacks
 * those that were used since its backup (§18.5), so that it refuses all texts of before.
 */
import { sha256 } from '../../kernel/secret.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

/** A text of one purpose: texts of others never equal it. */
export interface SingleUse {
  readonly purpose: string
  readonly text: string
}

const hashOf = ({ purpose, text }: SingleUse) => sha256(JSON.stringify([purpose, text]))

/** Stores that a text is used. Returns false if it was used before. */
export async function useOnce(tx: Tx, use: SingleUse, expiresAtMs: number): Promise<boolean> {
  const inserted = await tx.run(sql`INSERT INTO gh_used_once (hash, expires_at)
    VALUES (${hashOf(use)}, ${expiresAtMs}) ON CONFLICT (hash) DO NOTHING`)
  return inserted === 1
}

/** When data of a backup was recognized, in epoch milliseconds; undefined: never. */
export type RestoredAt = () => number | undefined

/** Returns whether a text, which is valid from an instant on, may have been used in lost data. */
export function mayBeUsed(validFromMs: number, restoredAt: RestoredAt): boolean {
  const restoredMs = restoredAt()
  return restoredMs !== undefined && validFromMs <= restoredMs
}

export const wasUsed = async (from: Reader, use: SingleUse): Promise<boolean> =>
  (await from.get(sql`SELECT 1 AS used FROM gh_used_once WHERE hash = ${hashOf(use)}`)) !==
  undefined
