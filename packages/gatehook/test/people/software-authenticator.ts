/** An authenticator of WebAuthn in software: ES256, discoverable, user verification (Level 3). */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest()

type Cbor = number | string | Buffer | readonly Cbor[] | ReadonlyMap<number | string, Cbor>

/** Encodes the few kinds of CBOR (RFC 8949) that an attestation has. */
function encodeCbor(value: Cbor): Buffer {
  const head = (major: number, n: number) =>
    n < 24
      ? Buffer.from([(major << 5) | n])
      : n < 256
        ? Buffer.from([(major << 5) | 24, n])
        : Buffer.from([(major << 5) | 25, n >> 8, n & 255])
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if ('length' in value) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  const entries = [...value]
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(encodeCbor)])
}

export interface Deviation {
  readonly origin?: string
  readonly rpId?: string
  readonly isVerified?: boolean
  readonly challenge?: string
  readonly counter?: number
  /** The format and the statement of the attestation; default: `none`, empty. */
  readonly attestation?: readonly [format: string, statement: ReadonlyMap<string, Cbor>]
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
  /** As `PublicKeyCredential.toJSON()`, with a member of a later level of the standard. */
  const answer = (response: Record<string, Buffer>, plain: object = {}) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    authenticatorAttachment: 'platform',
    clientExtensionResults: { credProps: { rk: true } },
    later: {},
    response: {
      ...Object.fromEntries(
        Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]),
      ),
      ...plain,
      later: [],
    },
  })
  return {
    // biome-ignore lint/suspicious/noExplicitAny: options of the server
    create({ challenge, rp }: any, other: Deviation = {}) {
      const key = new Map<number, Cbor>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x!, 'base64url')],
        [-3, Buffer.from(y!, 'base64url')],
      ])
      const length = Buffer.from([0, id.length])
      const attested = [Buffer.alloc(16), length, id, encodeCbor(key)]
      const authData = Buffer.concat([headOf(rp.id, FLAGS.attested, other), ...attested])
      const [format, statement] = other.attestation ?? ['none', new Map<string, Cbor>()]
      const attestation = new Map<string, Cbor>([
        ['fmt', format],
        ['attStmt', statement],
        ['authData', authData],
      ])
      const response = {
        clientDataJSON: clientData('webauthn.create', challenge, other),
        attestationObject: encodeCbor(attestation),
        authenticatorData: authData,
        publicKey: publicKey.export({ format: 'der', type: 'spki' }),
      }
      return answer(response, { transports: ['internal', 'hybrid'], publicKeyAlgorithm: -7 })
    },
    // biome-ignore lint/suspicious/noExplicitAny: options of the server
    get({ challenge, rpId }: any, other: Deviation = {}) {
      const clientDataJSON = clientData('webauthn.get', challenge, other)
      const authenticatorData = headOf(rpId, 0, other)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      const signature = sign('sha256', signed, privateKey)
      const userHandle = null
      return answer({ clientDataJSON, authenticatorData, signature }, { userHandle })
    },
  }
}
