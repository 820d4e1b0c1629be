/** Signs a body as Gatehook does (§9.5), for tests of a receiver. */
import {
  type Bytes,
  computeMac,
  copyBytes,
  deriveKey,
  HEADER,
  signedContent,
  toBase64,
  toHex,
} from './signature.ts'
import { requireSecrets } from './verify.ts'

export interface SignOptions {
  /** The exact bytes of the body. */
  readonly body: Bytes
  /** The secrets, newest first. `X-Hub-Signature-256` uses the last, the other schemes all. */
  readonly secret: string | readonly string[]
  /** The `webhook-id`. Default: random. */
  readonly id?: string | undefined
  /** The signed time in Unix seconds. Default: now. */
  readonly timestamp?: number | undefined
}

/**
 * Returns the headers of a delivery, signed with all three schemes. A secret that is not `whsec_`
 * and base64 has no Standard Webhooks key; if no secret has one, the `webhook-` headers are absent.
 *
 * @example
 * const headers = await sign({ body, secret })
 * @throws {TypeError} A secret is missing or a placeholder, or has white space or quotes around it;
 *   or the body is not bytes.
 */
export async function sign(options: SignOptions): Promise<Record<string, string>> {
  const secrets = requireSecrets(options.secret)
  const body = copyBytes(options.body)
  const id = options.id ?? `msg_${crypto.randomUUID()}`
  const time = String(options.timestamp ?? Math.floor(Date.now() / 1000))
  const signaturesB: string[] = []
  const signaturesStandard: string[] = []
  for (const secret of secrets) {
    const keyB = await deriveKey(secret, 'B')
    signaturesB.push(`v1=${toHex(await computeMac(keyB!, signedContent(`${time}.`, body)))}`)
    const key = await deriveKey(secret, 'standard')
    if (!key) continue
    signaturesStandard.push(
      `v1,${toBase64(await computeMac(key, signedContent(`${id}.${time}.`, body)))}`,
    )
  }
  const oldest = await deriveKey(secrets.at(-1)!, 'A')
  return {
    [HEADER.A]: `sha256=${toHex(await computeMac(oldest!, body))}`,
    [HEADER.B]: [`t=${time}`, ...signaturesB].join(','),
    ...(signaturesStandard.length > 0 && {
      [HEADER.standardId]: id,
      [HEADER.standardTimestamp]: time,
      [HEADER.standard]: signaturesStandard.join(' '),
    }),
  }
}
