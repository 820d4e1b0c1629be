/** Opens nodes with the old, the new or both master secrets on one database, and rotates it. */
import { createCipheriv } from 'node:crypto'
import type { TestContext } from 'node:test'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import type { App } from '../../src/app.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { keyIdOf, Vault } from '../../src/kernel/secret.ts'
import type { RotationCallbacks } from '../../src/platform/secrets/rotation.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

export const random = systemRandom()
export const OLD = 'the first master secret, long enough'
export const NEW = 'the second master secret, long enough'
export const [OLD_ID, NEW_ID] = [keyIdOf(OLD), keyIdOf(NEW)]

export type OpenNode = (...secrets: readonly string[]) => Promise<TestApp>

/** Returns a function that opens a node on one database; its arguments are newest first. */
export async function nodesOn(t: TestContext, kind: Kind, env = {}): Promise<OpenNode> {
  const url = await freshUrl(t, kind)
  return (secret, previous) =>
    openService(t, kind, {
      url,
      env: {
        GATEHOOK_SECRET_KEY: secret!,
        ...(previous && { GATEHOOK_SECRET_KEY_PREVIOUS: previous }),
        ...env,
      },
    })
}

const actor = { kind: 'cli', id: 'test' } as const

export const rotate = (app: App, callbacks: Partial<RotationCallbacks> = {}) =>
  app.secrets.rotate({
    audit: (tx, action, target, detail) =>
      recordAudit(tx, { actor, action, target, detail }, app.administration),
    waitForNodes: async () => {},
    onProgress: () => {},
    ...callbacks,
  })

/** Counts the values under a key id in all columns; null counts those under no known key. */
export async function countUnder(app: App, keyId: string | null): Promise<number> {
  const { values } = await app.secrets.status()
  return values
    .filter(({ key_id }) => key_id === keyId)
    .reduce((total, { count }) => total + count, 0)
}

/** Encrypts in the format of releases without key ids: nonce, ciphertext, tag. */
function encryptWithoutKeyId(secret: string, purpose: string, plain: Uint8Array): Buffer {
  const nonce = random.bytes(12)
  const cipher = createCipheriv('aes-256-gcm', new Vault(secret, random).key(purpose), nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Turns a database into one that a release without key ids wrote. */
export async function asBefore(db: Database, secret: string): Promise<void> {
  const vault = new Vault(secret, random)
  await db.write(async (tx) => {
    await tx.run(sql`DELETE FROM gh_settings WHERE name = 'master_secret'`)
    for (const row of await tx.all(sql`SELECT kid, encrypted_private_jwk FROM gh_signing_keys`)) {
      const plain = vault.decrypt('signing', row.kid, row.encrypted_private_jwk)
      const encrypted = encryptWithoutKeyId(secret, 'signing', plain)
      await tx.run(sql`UPDATE gh_signing_keys SET encrypted_private_jwk = ${encrypted}
        WHERE kid = ${row.kid}`)
    }
    for (const row of await tx.all(sql`SELECT no, encrypted FROM gh_webhook_secrets`)) {
      const plain = vault.decrypt('webhook secret', String(row.no), row.encrypted)
      const encrypted = encryptWithoutKeyId(secret, 'webhook secret', plain)
      await tx.run(sql`UPDATE gh_webhook_secrets SET encrypted = ${encrypted} WHERE no = ${row.no}`)
    }
  })
}
