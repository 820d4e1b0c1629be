/** Signs a body as the sender does (rules §9.5), so that your own tests can call your receiver. */
import {
  type Bytes,
  HEADER,
  keyOf,
  mac,
  rawBytes,
  signedContent,
  toBase64,
  toHex,
} from './signature.ts'
import { secretsOf } from './verify.ts'

export interface SignOptions {
  /** The bytes that will be sent, exactly. */
  readonly body: Bytes
  /**
   * The live secrets, newest first. `X-Hub-Signature-256` is made with the last, the others with
   * all.
   */
  readonly secret: string | readonly string[]
  /** `webhook-id`. Default: a random one. */
  readonly id?: string | undefined
  /** The signed time, Unix seconds. Default: now. */
  readonly timestamp?: number | undefined
}

/**
 * The headers of a delivery of `body`: all three schemes. A secret that is not `whsec_` + base64
 * has no Standard Webhooks key; where none has one, the three `webhook-` headers are left out.
 *
 * @throws TypeError for no secret, or a body that is not bytes.
 */
export async function sign(options: SignOptions): Promise<Record<string, string>> {
  const secrets = secretsOf(options.secret)
  const body = rawBytes(options.body)
  const id = options.id ?? `msg_${crypto.randomUUID()}`
  const time = String(options.timestamp ?? Math.floor(Date.now() / 1000))
  const ofB: string[] = []
  const ofStandard: string[] = []
  for (const secret of secrets) {
    const keyB = await keyOf(secret, 'B')
    ofB.push(`v1=${toHex(await mac(keyB!, signedContent(`${time}.`, body)))}`)
    const key = await keyOf(secret, 'standard')
    if (!key) continue
    ofStandard.push(`v1,${toBase64(await mac(key, signedContent(`${id}.${time}.`, body)))}`)
  }
  const oldest = await keyOf(secrets.at(-1)!, 'A')
  return {
    [HEADER.A]: `sha256=${toHex(await mac(oldest!, body))}`,
    [HEADER.B]: [`t=${time}`, ...ofB].join(','),
    ...(ofStandard.length > 0 && {
      [HEADER.standardId]: id,
      [HEADER.standardTimestamp]: time,
      [HEADER.standard]: ofStandard.join(' '),
    }),
  }
}
