/** SQL of signing keys. What is in them is `signing-keys.ts`. */
import type { Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

/** The setting that names the key which signs: whoever writes it first has made the first key. */
export const ACTIVE = 'signing_key'

/** False where another process was faster. */
export async function claimFirst(tx: Tx, kid: string): Promise<boolean> {
  const count = await tx.run(sql`INSERT INTO gh_settings (name, value)
    VALUES (${ACTIVE}, ${JSON.stringify(kid)}) ON CONFLICT (name) DO NOTHING`)
  return count === 1
}

export const insertSigningKey = (
  tx: Tx,
  row: { kid: string; publicJwk: string; sealed: Uint8Array; now: number },
) =>
  tx.run(sql`INSERT INTO gh_signing_keys (kid, public_jwk, sealed_private_jwk, created_at)
    VALUES (${row.kid}, ${row.publicJwk}, ${row.sealed}, ${row.now})`)
