/** Signing secrets of registrations: how they are made, sealed and opened (§9.1, §9.5). */
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import type { SigningSecret } from './signature.ts'

const PURPOSE = 'webhook secret'
const SECRET_BYTES = 32

/** `whsec_` + base64. */
export const newSecret = (random: Random): string =>
  `whsec_${random.bytes(SECRET_BYTES).toString('base64')}`

export const sealedWebhookSecrets: SealedColumn = {
  purpose: PURPOSE,
  table: 'gh_webhook_secrets',
  column: 'sealed',
  key: ['no'],
  rowOf: ([no]) => String(no),
}

/** `no`: of the row in `gh_webhook_secrets`. */
export const sealSecret = (vault: Vault, no: number, secret: string): Buffer =>
  vault.seal(PURPOSE, String(no), secret)

export const openSecret = (vault: Vault, no: number, sealed: Uint8Array): SigningSecret => ({
  value: vault.open(PURPOSE, String(no), sealed).toString(),
})
