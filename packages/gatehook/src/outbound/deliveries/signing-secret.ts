/** Signing secrets of registrations: generation and encryption at rest (§9.1, §9.5). */
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { SigningSecret } from './signature.ts'
import { WEBHOOK_SECRET_PURPOSE } from './tables.ts'

const SECRET_BYTES = 32

/** Generates a signing secret: `whsec_` and the base64 of 32 random bytes. */
export const newSigningSecret = (random: Random): string =>
  `whsec_${random.bytes(SECRET_BYTES).toString('base64')}`

/** Encrypts a secret for the row `no` of `gh_webhook_secrets`. */
export const encryptSigningSecret = (vault: Vault, no: number, secret: string): Buffer =>
  vault.encrypt(WEBHOOK_SECRET_PURPOSE, String(no), secret)

/** Decrypts the secret of the row `no`. Throws `DecryptionError` when the vault cannot. */
export const decryptSigningSecret = (
  vault: Vault,
  no: number,
  encrypted: Uint8Array,
): SigningSecret => ({
  value: vault.decrypt(WEBHOOK_SECRET_PURPOSE, String(no), encrypted).toString(),
})
