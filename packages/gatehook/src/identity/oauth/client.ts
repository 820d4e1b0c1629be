/** An OAuth client, and the verification of its secrets. Pure; its rows are `client-store.ts`. */
import { timingSafeEqual } from 'node:crypto'
import type { Mode, Principal, Scope } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { IdTokenAlgorithm } from '../tokens/id-token.ts'
import type { ClientKeys } from './key-set.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** An assertion of a trusted issuer names the caller (§16.8). */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const GRANT_TYPES = [
  'authorization_code',
  'client_credentials',
  'refresh_token',
  DEVICE_GRANT,
  JWT_BEARER_GRANT,
] as const
export type GrantType = (typeof GRANT_TYPES)[number]

/** A public client cannot authenticate, so it has no client credentials (RFC 6749 §4.4). */
export const PUBLIC_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const

/** The grants for which a person signs in at this server; they can have ID tokens (§16.10). */
export const SIGN_IN_GRANTS = ['authorization_code', DEVICE_GRANT] as const

/** How a client came: by an operator, by itself (§16.5), or with a document (§16.4). */
export const CLIENT_SOURCES = ['administration', 'registration', 'document'] as const
export type ClientSource = (typeof CLIENT_SOURCES)[number]

export interface OauthClient {
  readonly id: string
  readonly source: ClientSource
  /** Undefined if it belongs to no customer: the person who signs in decides. */
  readonly scope: Scope | undefined
  readonly customer: string | undefined
  readonly mode: Mode | undefined
  /** Of a client that registered itself, its own claim. */
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  readonly grantTypes: readonly GrantType[]
  /** It has no secret: an app in a browser or on a person's device (RFC 6749 §2.1). */
  readonly isPublic: boolean
  /** The keys of its assertions; undefined: it has secrets, or is public (§16.7). */
  readonly keys: ClientKeys | undefined
  readonly requireAuthOnRefresh: boolean
  /** Undefined if no person takes part in its grants, or without OpenID Connect (§16.10). */
  readonly idTokenAlgorithm: IdTokenAlgorithm | undefined
  /** Whether its tokens reach account endpoints (§4.5). */
  readonly isFirstParty: boolean
  readonly secrets: readonly ClientSecret[]
  /** Whether its customer is suspended (§13). */
  readonly suspended: boolean
  /** Whether no operator has verified its name and redirect URIs (§16.4). */
  readonly describesItself: boolean
  /** When a client that registered itself got tokens, about; null: never. */
  readonly usedAt: number | null
}

/** Whether a person may sign in to a client (§4.8). */
export const admits = ({ scope }: OauthClient, person: Pick<Principal, 'scope'>): boolean =>
  scope === undefined || scope === person.scope

interface ClientSecret {
  /** SHA-256 of the secret. */
  readonly hash: Uint8Array
  /** Epoch milliseconds; Infinity for the newest. */
  readonly expiresAt: number
}

/**
 * Returns whether `secret` is one of the client's unexpired secrets. It compares with all of them,
 * in constant time.
 */
export function verifyClientSecret(
  { secrets }: OauthClient,
  secret: string,
  nowMs: number,
): boolean {
  const sentHash = sha256(secret)
  let isValid = false
  for (const { hash, expiresAt } of secrets) {
    const isEqual = timingSafeEqual(hash, sentHash)
    isValid ||= isEqual && expiresAt > nowMs
  }
  return isValid
}
