/** SQL of signing keys. What is in them is `signing-keys.ts`. */
import type { Reader, Row, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { sql } from '../storage/sql.ts'

/** The setting whose row is made by whoever makes the first key, and locked by who makes others. */
const FIRST = 'signing_key'

/** The purpose private keys are sealed under, each for its `kid`. */
export const SIGNING_PURPOSE = 'signing'

export const sealedSigningKeys: SealedColumn = {
  purpose: SIGNING_PURPOSE,
  table: 'gh_signing_keys',
  column: 'sealed_private_jwk',
  key: ['kid'],
  rowOf: ([kid]) => String(kid),
}

export interface SigningKeyRow extends Row {
  readonly kid: string
  readonly public_jwk: string
  readonly sealed_private_jwk: Uint8Array
  readonly created_at: number
  readonly signs_from: number
}

/** False where another process was faster. */
export async function claimFirst(tx: Tx, kid: string): Promise<boolean> {
  const count = await tx.run(sql`INSERT INTO gh_settings (name, value)
    VALUES (${FIRST}, ${JSON.stringify(kid)}) ON CONFLICT (name) DO NOTHING`)
  return count === 1
}

/** Until the transaction ends nobody else makes a key. */
export const lockKeys = (tx: Tx) =>
  tx.lock(sql`SELECT value FROM gh_settings WHERE name = ${FIRST}`)

/** Oldest first, in the order they sign. */
export const allKeys = (from: Reader) =>
  from.all<SigningKeyRow>(sql`SELECT kid, public_jwk, sealed_private_jwk, created_at, signs_from
    FROM gh_signing_keys ORDER BY signs_from, created_at, kid`)

export const insertSigningKey = (tx: Tx, row: SigningKeyRow) =>
  tx.run(sql`INSERT INTO gh_signing_keys (kid, public_jwk, sealed_private_jwk, created_at,
    signs_from) VALUES (${row.kid}, ${row.public_jwk}, ${row.sealed_private_jwk},
    ${row.created_at}, ${row.signs_from})`)

/** Keys whose successor has signed since `beforeMs`: nothing they signed is good any more. */
export const dropRetired = (tx: Tx, beforeMs: number) =>
  tx.run(sql`DELETE FROM gh_signing_keys WHERE EXISTS (SELECT 1 FROM gh_signing_keys AS next
    WHERE next.signs_from > gh_signing_keys.signs_from AND next.signs_from <= ${beforeMs})`)
