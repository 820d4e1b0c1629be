/** Signing secrets of registrations: how they are made, sealed and opened (§9.1, §9.5). */
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { SigningSecret } from './signature.ts'

const PURPOSE = 'webhook secret'
const SECRET_BYTES = 32

/** `whsec_` + base64. */
export const newSecret = (random: Random): string =>
  `whsec_${random.bytes(SECRET_BYTES).toString('base64')}`

export const sealSecret = (vault: Vault, secret: string): Buffer => vault.seal(PURPOSE, secret)

export const openSecret = (vault: Vault, sealed: Uint8Array): SigningSecret => ({
  value: vault.open(PURPOSE, sealed).toString(),
})
