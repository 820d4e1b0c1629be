/**
 * What other rooms see of tokens: what is granted, what is issued, what they may ask. How it is
 * done stands in the files beside this one.
 */
import type { Actor } from '../audit/store.ts'
import type { Route } from '../http/call.ts'
import type { Mode, Principal, Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'

/** The `client_id` of tokens that `/auth/login` gives (§4.1). */
export const LOGIN_CLIENT = 'gatehook'

/** The principal of what the engine detects or does by itself. */
export const ENGINE = { kind: 'system', id: 'tokens' } as const

/** What a token is to say. */
export interface Grant {
  readonly scope: Scope
  /** Customer id, `cus_…`. */
  readonly customer: string
  readonly mode: Mode
  /** `LOGIN_CLIENT` for login. */
  readonly clientId: string
  /** The person's row id as a string; the client's id for client credentials. */
  readonly subject: string
  readonly scopes: readonly string[]
  /** `name`, `role`, what the service's hook adds; reserved claims among them are left out. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** The body of a token answer (§4.3, §4.4, §5.3). */
export interface Issued {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  /** Names with a space between. */
  readonly scope: string
  readonly refresh_token?: string
}

/** The claims of an access token of ours (§4.1, RFC 9068 §2.2). Times are Unix seconds. */
export interface Claims {
  readonly iss: string
  readonly sub: string
  readonly aud: string
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly client_id: string
  readonly scope: string
  /** The session; a client's own tokens have none. */
  readonly sid?: string
  readonly customer: string
  readonly mode: Mode
  readonly [more: string]: unknown
}

/** A refresh token that was ours, and what it stands for. */
export interface RefreshFacts {
  readonly sessionId: string
  readonly scope: Scope
  readonly customer: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly expiresAt: number
  /** Whether it can be used now: not rotated away, not expired. */
  readonly live: boolean
}

/** Who asks for a refresh, where that is known. */
export interface RefreshedBy {
  readonly clientId: string
  /** Whether it proved itself with a secret. */
  readonly authenticated: boolean
}

export interface RefreshOptions {
  /** Narrows this access token, not the session. */
  readonly scopes?: readonly string[] | undefined
  /** The request, for the audit row of a token that is presented again. */
  readonly from?: Actor | undefined
}

export interface PersonFacts {
  /** `name`, `role`, what the service's hook adds. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly scopes: readonly string[]
  /** Its customer is. */
  readonly suspended: boolean
}

export interface ClientFacts {
  readonly scope: Scope
  readonly scopes: readonly string[]
  /** §4.4: `require_client_auth_on_refresh`. */
  readonly requireAuthOnRefresh: boolean
  /** Whether `secret` is one of its live ones; false for a public client. */
  matches(secret: string): boolean
}

/** What a client's access tokens may carry at this moment. */
export interface ClientPermissions {
  readonly scopes: readonly string[]
  /** Registered with `first_party: true`: its tokens reach account endpoints (§4.5). */
  readonly firstParty: boolean
}

export interface CustomerFacts {
  readonly no: number
  readonly suspended: boolean
  /** Its own request limit, where it has one (§11.3). */
  readonly rate?: NonNullable<Principal['rate']>
  readonly totalRate?: NonNullable<Principal['totalRate']>
}

/** What is asked of other rooms, so that a change shows with the next token at the latest. */
export interface TokenLookup {
  /** Undefined when gone or disabled: no more tokens then. */
  person(reader: Reader, scope: Scope, subject: string): Promise<PersonFacts | undefined>
  /**
   * Undefined when gone, or when it may not refresh. Never asked for `LOGIN_CLIENT`. Inside a
   * transaction `reader` is its handle.
   */
  client(
    clientId: string,
    reader?: Reader,
  ): ClientFacts | undefined | Promise<ClientFacts | undefined>
  /** Reads a client's current permissions, without a cache; undefined when it is deleted. */
  clientPermissions(clientId: string): Promise<ClientPermissions | undefined>
  customer(id: string): Promise<CustomerFacts | undefined>
}

export interface Tokens {
  /**
   * Who an access token proves (§3.5); at once where it is remembered. Throws 401 `invalid_token`
   * with its challenge, 403 `customer_suspended`.
   */
  verify(jwt: string): Principal | Promise<Principal>
  /** The claims of a token that bears our signature, whatever its age and fate; else undefined. */
  read(jwt: string): Promise<Claims | undefined>
  /** Whether claims that `read` gave are good now: time, issuer, audience, revocation. */
  isLive(claims: Claims): Promise<boolean>
  /** The scopes of a token, as far as its client still has them. */
  scopesOf(claims: Claims): Promise<readonly string[]>
  /**
   * A new session with its first tokens. One transaction: what finds out what is granted (a code
   * is used up, a person is still who they were) and the session; when it throws, nothing has
   * happened.
   */
  openSession(
    grant: Grant | ((tx: Tx, sessionId: string) => Promise<Grant>),
  ): Promise<Issued & { readonly refresh_token: string }>
  /** A token of a client's own: no session, no refresh token, nothing written. */
  clientToken(grant: Grant): Promise<Issued>
  /**
   * The next tokens of a session (§4.2).
   * Throws 401 `invalid_grant`, 401 `invalid_client` where the client has to prove itself and did
   * not, 400 `invalid_scope` for a scope the session has not.
   */
  refresh(
    token: string,
    by: RefreshedBy | undefined,
    options?: RefreshOptions,
  ): Promise<Issued & { readonly refresh_token: string }>
  /** Whether a text is a refresh token of ours, of whatever age and fate. */
  wasRefresh(token: string): boolean
  /** Any token of a session that still stands; undefined for others, spent or forged. */
  findRefresh(token: string): Promise<RefreshFacts | undefined>
  /**
   * Ends a session: its refresh token at once, its access tokens on every node within 2 s.
   * False where it was over.
   */
  revokeSession(tx: Tx, sessionId: string): Promise<boolean>
  /** Whether one access token was ended before, by itself or with its session or client. */
  isRevoked(claims: Claims): boolean | Promise<boolean>
  /** Ends one access token. */
  revokeToken(tx: Tx, claims: Claims): Promise<void>
  /**
   * Ends all sessions of a person (password changed, disabled, deleted), but for `except`, the
   * one in which it changed its password. How many.
   */
  revokeSubject(tx: Tx, scope: Scope, subject: string, except?: string): Promise<number>
  /** Ends whatever was issued to a client, for good: its id must never return. */
  revokeClient(tx: Tx, scope: Scope, clientId: string): Promise<void>
  /** A client may do less, or more, than before: its access tokens follow within 2 s. */
  clientChanged(tx: Tx, clientId: string): Promise<void>
  /** Ends what a person granted one client (`DELETE /auth/consents/{client_id}`). How many. */
  revokeSubjectAtClient(tx: Tx, scope: Scope, subject: string, clientId: string): Promise<number>
  /** Publishes a new signing key, which signs some minutes later (§4.6). */
  rotateSigning(actor: Actor): Promise<{ readonly kid: string; readonly signs_from: string }>
  /** `/auth/refresh`, `/auth/logout`, `/auth/logout-all`, `/auth/sessions`, the key set. */
  readonly routes: Route[]
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** Follows revocations and rotates signing keys; without it the database is asked each time. */
  start(): Promise<void>
  stop(): Promise<void>
}
