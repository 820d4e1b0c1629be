/** The keys that sign access tokens (§4.6): ES256, sealed. Tokens are not made here. */
import { createHash, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database } from '../storage/database.ts'
import { readSetting } from '../storage/settings.ts'
import * as store from './store.ts'

/** The purpose private keys are sealed under. */
export const SIGNING_PURPOSE = 'signing'

const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' })
const generate = promisify(generateKeyPair)

/** RFC 7638 §3.2: the required members of an EC key in lexicographic order, no white space. */
function thumbprint({ crv, kty, x, y }: ReturnType<typeof jwkOf>): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}

/** Makes the first key where there is none; gives the id of the one that signs. */
export async function ensureSigningKey(
  db: Database,
  { vault, clock }: { readonly vault: Vault; readonly clock: Clock },
): Promise<string> {
  const active = await readSetting<string>(db, store.ACTIVE)
  if (active !== undefined) return active
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' })
  const { d, ...shared } = jwkOf(privateKey)
  const kid = thumbprint(shared)
  const publicJwk = { ...shared, kid, use: 'sig', alg: 'ES256' }
  const row = {
    kid,
    publicJwk: JSON.stringify(publicJwk),
    sealed: vault.seal(SIGNING_PURPOSE, JSON.stringify({ ...publicJwk, d })),
    now: clock.now(),
  }
  const first = await db.write(async (tx) => {
    const claimed = await store.claimFirst(tx, kid)
    if (claimed) await store.insertSigningKey(tx, row)
    return claimed
  })
  return first ? kid : (await readSetting<string>(db, store.ACTIVE))!
}
