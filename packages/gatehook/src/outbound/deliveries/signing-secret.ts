/** Signing secrets of registrations: generation and encryption at rest (§9.1, §9.5). */
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { EncryptedColumn } from '../../platform/storage/encrypted-column.ts'
import type { SigningSecret } from './signature.ts'

const PURPOSE = 'webhook secret'
const SECRET_BYTES = 32

/** Generates a signing secret: `whsec_` and the base64 of 32 random bytes. */
export const newSigningSecret = (random: Random): string =>
  `whsec_${random.bytes(SECRET_BYTES).toString('base64')}`

/** The encrypted column, for the rotation of the master secret. */
export const sealedWebhookSecrets: EncryptedColumn = {
  purpose: PURPOSE,
  table: 'gh_webhook_secrets',
  column: 'sealed',
  key: ['no'],
  rowOf: ([no]) => String(no),
}

/** Encrypts a secret for the row `no` of `gh_webhook_secrets`. */
export const encryptSigningSecret = (vault: Vault, no: number, secret: string): Buffer =>
  vault.encrypt(PURPOSE, String(no), secret)

/** Decrypts the secret of the row `no`. Throws `DecryptionError` when the vault cannot. */
export const decryptSigningSecret = (
  vault: Vault,
  no: number,
  sealed: Uint8Array,
): SigningSecret => ({ value: vault.decrypt(PURPOSE, String(no), sealed).toString() })
