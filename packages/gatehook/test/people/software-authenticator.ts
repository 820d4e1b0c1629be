/** An authenticator of WebAuthn in software: ES256, discoverable, user verification (Level 3). */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest()

/** Encodes the few kinds of CBOR (RFC 8949) that an attestation has. */
function encodeCbor(value: unknown): Buffer {
  const head = (major: number, n: number) =>
    n < 24
      ? Buffer.from([(major << 5) | n])
      : n < 256
        ? Buffer.from([(major << 5) | 24, n])
        : Buffer.from([(major << 5) | 25, n >> 8, n & 255])
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const entries = [...(value as Map<unknown, unknown>)]
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(encodeCbor)])
}

export interface Deviation {
  readonly origin?: string
  readonly rpId?: string
  readonly isVerified?: boolean
  readonly challenge?: string
  readonly counter?: number
}

export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  let count = 0
  const clientData = (type: string, challenge: string, other: Deviation) =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: other.challenge ?? challenge,
        origin: other.origin ?? origin,
      }),
    )
  const headOf = (rpId: string, flags: number, other: Deviation) => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(other.counter ?? ++count)
    const verified = other.isVerified === false ? 0 : FLAGS.verified
    const bits = Buffer.from([flags | FLAGS.present | verified])
    return Buffer.concat([sha256(other.rpId ?? rpId), bits, counter])
  }
  const answer = (response: Record<string, Buffer>) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: Object.fromEntries(
      Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]),
    ),
  })
  return {
    // biome-ignore lint/suspicious/noExplicitAny: options of the server
    create({ challenge, rp }: any, other: Deviation = {}) {
      const key = new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x!, 'base64url')],
        [-3, Buffer.from(y!, 'base64url')],
      ])
      const length = Buffer.from([0, id.length])
      const attested = [Buffer.alloc(16), length, id, encodeCbor(key)]
      const authData = Buffer.concat([headOf(rp.id, FLAGS.attested, other), ...attested])
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      return answer({
        clientDataJSON: clientData('webauthn.create', challenge, other),
        attestationObject: encodeCbor(attestation),
      })
    },
    // biome-ignore lint/suspicious/noExplicitAny: options of the server
    get({ challenge, rpId }: any, other: Deviation = {}) {
      const clientDataJSON = clientData('webauthn.get', challenge, other)
      const authenticatorData = headOf(rpId, 0, other)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      const signature = sign('sha256', signed, privateKey)
      return answer({ clientDataJSON, authenticatorData, signature })
    },
  }
}
