/** A client as this room works with it, and what a client may be. Pure; rows are in the stores. */
import { timingSafeEqual } from 'node:crypto'
import type { Mode, Scope } from '../kernel/principal.ts'
import { sha256 } from '../kernel/secret.ts'

export const GRANT_TYPES = ['authorization_code', 'client_credentials', 'refresh_token'] as const
export type GrantType = (typeof GRANT_TYPES)[number]

/** A client nobody can tell apart from a copy of it gets no token of its own (RFC 6749 §4.4). */
export const PUBLIC_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const

export interface Client {
  readonly id: string
  readonly scope: Scope
  readonly customer: string
  readonly mode: Mode
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  readonly grantTypes: readonly GrantType[]
  /** It has no secret: an app in a browser or on a person's machine. */
  readonly isPublic: boolean
  readonly requireAuthOnRefresh: boolean
  readonly secrets: readonly Secret[]
  /** Its customer is suspended (§13). */
  readonly suspended: boolean
}

export interface Secret {
  readonly hash: Uint8Array
  /** Epoch milliseconds; Infinity for the newest. */
  readonly expiresAt: number
}

/** Whether `secret` is one of the live ones. All are compared, so that time says nothing. */
export function holdsSecret({ secrets }: Client, secret: string, nowMs: number): boolean {
  const sent = sha256(secret)
  let held = false
  for (const { hash, expiresAt } of secrets) {
    const same = timingSafeEqual(hash, sent)
    held ||= same && expiresAt > nowMs
  }
  return held
}
