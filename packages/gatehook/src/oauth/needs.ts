/** What this room needs of the rooms below it, in its own words; `app.ts` passes it. Types only. */
import type { Call } from '../http/call.ts'
import type { Mode, Principal, Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/grant.ts'

/** Of the tokens' room. */
export type TokenIssuer = Pick<
  Tokens,
  | 'openSession'
  | 'clientToken'
  | 'refresh'
  | 'read'
  | 'isLive'
  | 'scopesOf'
  | 'findRefresh'
  | 'revokeSession'
  | 'revokeToken'
  | 'revokeClient'
  | 'clientChanged'
  | 'revokeSubjectAtClient'
>

/** Somebody who signed in, as the people's room knows them. */
export interface SignedIn {
  readonly scope: Scope
  readonly customer: string
  readonly mode: Mode
  readonly id: number
  /** The id as a string (§3.7). */
  readonly subject: string
  readonly username: string
  readonly scopes: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  /** Goes up when the password changes: whoever signed in before is signed in no more. */
  readonly revision: number
}

/** Of the people's room. */
export interface Directory {
  /** Throws `invalid_credentials`, `rate_limited` (§3.8). */
  signIn(username: string, password: string, address: string): Promise<SignedIn>
  /** Undefined when gone or disabled. */
  person(reader: Reader, scope: Scope, subject: string): Promise<SignedIn | undefined>
  /**
   * The person, kept as it is until `tx` ends. Throws `invalid_credentials` where it changed since
   * `revision`.
   */
  confirm(tx: Tx, person: Pick<SignedIn, 'id' | 'revision'>): Promise<SignedIn>
}

/** Who sent a call with a credential of the API (key, bearer); never throws. */
export type Recognize = (call: Call) => Principal | undefined | Promise<Principal | undefined>
