/**
 * The ceremonies of WebAuthn (§16.12), by `@simplewebauthn/server`, which loads with the first.
 * A challenge is a text that this server encrypted for one ceremony: unused ones take no row.
 */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { isLoopback } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Administration } from '../access/administration.ts'
import { mayBeUsed, type RestoredAt, useOnce } from '../tokens/single-use.ts'
import { invalidCredentials } from './username.ts'

const PURPOSE = 'passkey-challenge'
/** A ceremony takes at most this time; a sign-in is recent for as long. */
export const CEREMONY_MS = 5 * 60_000

export interface StoredPasskey {
  /** The credential id in base64url. */
  readonly credential: string
  readonly public_key: Uint8Array
  readonly counter: number
  /** JSON: a list of texts. */
  readonly transports: string
}

interface CeremonyDeps {
  readonly admin: Pick<Administration, 'db' | 'clock'>
  readonly vault: Vault
  readonly restoredAt: RestoredAt
  /** The kind of accounts: a challenge of the other kind is not valid. */
  readonly realm: 'person' | 'operator'
  /** The name of the service, which authenticators display. */
  readonly service: string
  readonly publicUrl: () => string
  /** Further origins of pages that use passkeys. */
  readonly origins: readonly string[]
}

/** Returns the same 401 for whatever a sign-in by passkey rejects. */
export const invalidPasskey = () =>
  invalidCredentials(
    'Bearer',
    'The passkey is unknown here, its challenge is used or expired, or its account is disabled.',
  )

export interface PasskeyUser {
  /** Stable, and no personal data. */
  readonly id: string
  /** The name by which the person signs in. */
  readonly name: string
  /** The name of the person. */
  readonly displayName: string
  /** The revision of the credential or the session that begins; another one cannot end it. */
  readonly begunBy: number | string
}

/** A created credential: the members that a body was read for. */
export interface AttestedCredential {
  readonly response: { readonly attestationObject: string }
}

function createChallenges({ admin: { db, clock }, vault, restoredAt }: CeremonyDeps) {
  const createChallenge = (ceremony: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(vault.encrypt(PURPOSE, ceremony, String(clock.now() + CEREMONY_MS)))

  /** Returns whether a challenge belongs to a ceremony and is used for the first time. */
  const takeChallenge = async (ceremony: string, text: string): Promise<boolean> => {
    const bytes = Buffer.from(text, 'base64url')
    let expiresAt: number
    try {
      expiresAt = Number(vault.decrypt(PURPOSE, ceremony, bytes).toString())
    } catch {
      return false
    }
    if (!(expiresAt > clock.now()) || mayBeUsed(expiresAt - CEREMONY_MS, restoredAt)) return false
    const use = { purpose: PURPOSE, text: bytes.toString('base64url') }
    return db.write((tx) => useOnce(tx, use, expiresAt))
  }
  return { createChallenge, takeChallenge }
}

/**
 * Returns an attestation object without its statement, which was not requested. A statement leads
 * to addresses that its author chose: the library fetches revocation lists from them.
 */
async function omitStatement(attestation: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import(
    '@simplewebauthn/server/helpers'
  )
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestation)).get('authData')
  const object = new Map<string, string | Uint8Array | Map<never, never>>([
    ['fmt', 'none'],
    ['attStmt', new Map<never, never>()],
    ['authData', authData],
  ])
  return isoBase64URL.fromBuffer(isoCBOR.encode(object))
}

export type PasskeyCeremonies = ReturnType<typeof createPasskeyCeremonies>

/**
 * Returns the origin whose pages use passkeys: that of the public URL, and `localhost` for an
 * address of this machine, since browsers accept no address. Undefined: any other address.
 */
export function findPasskeyOrigin(publicUrl: string): URL | undefined {
  const url = new URL(new URL(publicUrl).origin)
  const isName = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0
  if (isName) return url
  if (!isLoopback(url.hostname)) return undefined
  url.hostname = 'localhost'
  return url
}

/** Returns what a response must match. Without a name, the ceremony fails in the browser. */
function relyingPartyOf({ publicUrl, origins }: CeremonyDeps) {
  const configured = new URL(publicUrl())
  const named = findPasskeyOrigin(publicUrl()) ?? configured
  return {
    rpID: named.hostname,
    expected: {
      expectedOrigin: [named.origin, configured.origin, ...origins],
      expectedRPID: [named.hostname, configured.hostname],
      requireUserVerification: true,
    },
  }
}

export function createPasskeyCeremonies(deps: CeremonyDeps) {
  const { service, realm } = deps
  const load = () => import('@simplewebauthn/server')
  const { createChallenge, takeChallenge } = createChallenges(deps)
  const expected = (ceremony: string) => ({
    ...relyingPartyOf(deps).expected,
    expectedChallenge: (text: string) => takeChallenge(ceremony, text),
  })

  return {
    /** Returns the options with which a browser creates a passkey. */
    async beginCreation({ id, begunBy, ...user }: PasskeyUser, stored: readonly StoredPasskey[]) {
      const { generateRegistrationOptions } = await load()
      return generateRegistrationOptions({
        rpName: service,
        rpID: relyingPartyOf(deps).rpID,
        userID: new Uint8Array(Buffer.from(id)),
        userName: user.name,
        userDisplayName: user.displayName,
        challenge: createChallenge(`create ${id} ${begunBy}`),
        timeout: CEREMONY_MS,
        attestationType: 'none',
        excludeCredentials: stored.map(({ credential }) => ({ id: credential })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
    },

    /** Verifies a created passkey. Throws 400 if it does not match the options, or comes late. */
    async verifyCreation(
      { id, begunBy }: PasskeyUser,
      created: AttestedCredential,
    ): Promise<StoredPasskey> {
      const { verifyRegistrationResponse } = await load()
      const verify = async () => {
        const attestationObject = await omitStatement(created.response.attestationObject)
        const response = { ...created, response: { ...created.response, attestationObject } }
        return verifyRegistrationResponse({
          response: response as RegistrationResponseJSON,
          ...expected(`create ${id} ${begunBy}`),
        })
      }
      const result = await verify().catch(() => undefined)
      if (!result?.verified) {
        throw new Failure('invalid_request', 'The passkey does not match its options: begin again.')
      }
      const { credential } = result.registrationInfo
      return {
        credential: credential.id,
        public_key: credential.publicKey,
        counter: credential.counter,
        transports: JSON.stringify(credential.transports ?? []),
      }
    },

    /** Returns the options with which a browser signs in by any passkey of this server. */
    async beginSignIn() {
      const { generateAuthenticationOptions } = await load()
      return generateAuthenticationOptions({
        rpID: relyingPartyOf(deps).rpID,
        challenge: createChallenge(`sign in ${realm}`),
        timeout: CEREMONY_MS,
        userVerification: 'required',
      })
    },

    /** Returns the passkey of a sign-in, and its new counter. Throws `invalid_credentials`. */
    async verifySignIn<P extends StoredPasskey>(
      response: { readonly id: string },
      find: (credential: string) => Promise<P | undefined>,
    ): Promise<{ readonly passkey: P; readonly counter: number }> {
      const { verifyAuthenticationResponse } = await load()
      const passkey = await find(response.id)
      if (!passkey) throw invalidPasskey()
      const result = await verifyAuthenticationResponse({
        response: response as AuthenticationResponseJSON,
        ...expected(`sign in ${realm}`),
        credential: {
          id: passkey.credential,
          publicKey: new Uint8Array(passkey.public_key),
          counter: passkey.counter,
          transports: JSON.parse(passkey.transports) as AuthenticatorTransport[],
        },
      }).catch(() => undefined)
      if (!result?.verified) throw invalidPasskey()
      return { passkey, counter: result.authenticationInfo.newCounter }
    },
  }
}
