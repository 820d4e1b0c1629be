/**
 * The interface of this module: issued tokens, the operations on them (`Tokens`), and the data that
 * the module looks up elsewhere (`TokenLookup`). `tokens.ts` implements it.
 */

import type { Actor } from '../../history/audit/actor.ts'
import type { Failure } from '../../kernel/failure.ts'
import type { Assertion, Mode, Principal, Scope } from '../../kernel/principal.ts'
import type { Reader, Tx, WriteOptions } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import type { SignAssertion } from './assertion.ts'
import type { Audiences } from './audience.ts'
import type { Authentication, Identity, IdTokenAlgorithm } from './id-token.ts'

/** The `client_id` of tokens that `POST /auth/login` issues (§4.1). */
export const LOGIN_CLIENT_ID = 'gatehook'

/** The actor of audit entries that this module writes on its own account. */
export const TOKENS_ACTOR = { kind: 'system', id: 'tokens' } as const

/** The result of a replacement of all signing keys. */
export interface KeyReplacement {
  /** The key that signs now. */
  readonly kid: string
  /** The deleted keys: their tokens are not valid any more. */
  readonly deleted: readonly string[]
}

/** The end of a session or an assertion, after which no token of it is valid. */
export interface TokenBound {
  /** The id of the session; undefined for a token without one. */
  readonly id?: string
  /** Epoch milliseconds. */
  readonly endsAt: number
}

/** The kinds of subjects of access tokens. */
export const SUBJECT_KINDS = ['person', 'client', 'workload'] as const
type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** The content of an access token, without the claims that the server adds. */
export interface Grant {
  readonly scope: Scope
  /** The customer's id, `cus_…`. */
  readonly customer: string
  readonly mode: Mode
  /** `LOGIN_CLIENT_ID` for login. */
  readonly clientId: string
  /** Default: `person`. */
  readonly kind?: SubjectKind
  /** The id of the person's row, as a string, or of the client; of a workload, `issuer|sub`. */
  readonly subject: string
  /** The assertion that names the workload or the person (§16.8). */
  readonly assertion?: Assertion
  readonly scopes: readonly string[]
  /** The resources of its first request (RFC 8707); undefined: the standard audience. */
  readonly audience?: readonly string[] | undefined
  /** The narrower audience of this token alone; undefined: that of the grant. */
  readonly tokenAudience?: readonly string[] | undefined
  /** Whether its tokens never reach account endpoints, whatever the client (§16.6). */
  readonly thirdParty?: boolean | undefined
  /** `name`, `role`, and the claims of the service's hook. Reserved names are ignored. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** The instant of the sign-in that led to the grant, in epoch milliseconds. */
  readonly authenticatedAt?: number | undefined
  /** The sign-in that an ID token states, if the scopes have `openid` (§16.10). */
  readonly authentication?: Authentication | undefined
}

/** Computes a grant in the transaction that stores its session. */
export type ComputeGrant = (tx: Tx, sessionId: string) => Promise<Grant>

/** Sessions with the same `group` may commit together (`WriteOptions`). */
export type SessionOptions = Pick<WriteOptions, 'group'>

/** The body of an access token response (RFC 6749 §5.1, §4.3, §4.4, §5.3). */
const tokenMembers = {
  access_token: b.text().example('eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl'),
  token_type: b.oneOf(['Bearer']),
  expires_in: b.int(0).describe('Lifetime in seconds.').example(900),
  scope: b.text().describe('Scopes, separated by a space.').example('webhooks:read'),
  id_token: b
    .text()
    .optional()
    .describe('For the scope `openid`: the sign-in of the person (OpenID Connect Core §2).')
    .example('eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl'),
}
const refreshToken = b
  .text()
  .describe('Valid once: each refresh returns the next one (§4.2).')
  .example('grt_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2')

export const tokenResponse = b
  .object({ ...tokenMembers, refresh_token: refreshToken.optional() })
  .named('TokenResponse')
export type TokenResponse = JsonOf<typeof tokenResponse>

/** The response that begins or continues a session: it always has a refresh token. */
export const sessionTokens = b
  .object({ ...tokenMembers, refresh_token: refreshToken })
  .named('SessionTokens')
type SessionTokens = JsonOf<typeof sessionTokens>

/**
 * The claims of an access token (§4.1). Times are in Unix seconds.
 *
 * @see RFC 9068 §2.2
 */
export interface AccessTokenClaims {
  readonly iss: string
  readonly sub: string
  /** A list if the token has several audiences. */
  readonly aud: string | readonly string[]
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly client_id: string
  readonly scope: string
  /** The id of the session; absent without a person. */
  readonly sid?: string
  readonly customer: string
  readonly mode: Mode
  readonly kind: SubjectKind
  /** The issuer whose assertion names the caller; its deletion ends the token (§16.8). */
  readonly assertion_issuer?: string
  /** The rule of the issuer that the assertion matched; its end is that of the token. */
  readonly assertion_rule?: string
  /** A hash of how the issuer names the person. */
  readonly assertion_identity?: string
  readonly [more: string]: unknown
}

/** Why a credential is not valid (§17.3). */
export const REJECTIONS = [
  'unknown',
  'expired',
  'revoked',
  'address',
  'audience',
  'suspended',
] as const
export type Rejection = (typeof REJECTIONS)[number]

/** The result of the verification of a key or an access token. */
export type CredentialVerdict =
  | {
      readonly rejection?: undefined
      readonly principal: Principal
      /** Epoch milliseconds; Infinity: never. */
      readonly expiresAt: number
    }
  | {
      readonly rejection: Rejection
      /** Throw it to reject the request that the credential authenticates. */
      readonly failure: Failure
      /** The customer and mode of the credential, if this server issued it. */
      readonly owner: Pick<Principal, 'customer' | 'mode'> | undefined
    }

/** The numbers of sessions and webhooks that end with the consent of a person to a client. */
interface EndedAtClient {
  readonly sessions: number
  /** The webhooks that the client registered. */
  readonly registrations: number
}

/** The person of a session, and its client. */
type OwnerOfSession = Pick<RefreshTokenInfo, 'subject' | 'clientId'> & {
  /** Ends what this session gave alone. */
  readonly session?: string
}

/** Ends the access that a person gave through a client, whose session has ended (§13). */
export type EndAccessOf = (tx: Tx, owner: OwnerOfSession) => Promise<unknown>

/** A refresh token that this server issued, with the data of its session. */
export interface RefreshTokenInfo {
  readonly sessionId: string
  readonly scope: Scope
  readonly customer: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
  /** Whether it is the current token of a session that has not expired. */
  readonly isActive: boolean
}

export interface RefreshingClient {
  readonly clientId: string
  /** Whether it authenticated with its secret. */
  readonly authenticated: boolean
}

interface RefreshOptions {
  /**
   * Returns the requested scopes, fewer than those of the session, which retains its own; undefined
   * for all. It may throw, so it is called after the detection of reuse.
   */
  readonly parseScopes?: (() => readonly string[] | undefined) | undefined
  /** Resources that narrow the audience of the session for this token (RFC 8707). */
  readonly resources?: readonly string[] | undefined
  /** The actor of the audit entry if the token is replayed; default `TOKENS_ACTOR`. */
  readonly actor?: Actor | undefined
}

/** The data of a person that tokens contain or depend on. */
export interface TokenPerson extends Identity {
  /** `name`, `role`, and the claims of the service's hook. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly scopes: readonly string[]
  /** Whether the person's customer is suspended. */
  readonly suspended: boolean
}

/** The data of a client that a refresh depends on. */
export interface TokenClient {
  readonly scopes: readonly string[]
  /** `require_client_auth_on_refresh` (§4.4). */
  readonly requireAuthOnRefresh: boolean
  /** Undefined without ID tokens. */
  readonly idTokenAlgorithm?: IdTokenAlgorithm | undefined
  /** Whether it has a document or keys, which only `/oauth/token` reads. */
  readonly refreshesByOauth?: boolean
  /** Returns whether `secret` is one of the client's valid secrets; false for a public client. */
  hasSecret(secret: string): boolean
}

/** The permissions that a client has now; they narrow tokens issued before. */
export interface ClientPermissions {
  readonly scopes: readonly string[]
  /** Of an issuer: the scopes of its rules, by their ids. */
  readonly rules?: ReadonlyMap<string, readonly string[]>
  /** Registered with `first_party: true`: its tokens reach account endpoints (§4.5). */
  readonly firstParty: boolean
  /** Whether no operator has verified it (§16.4, §16.5). */
  readonly describesItself: boolean
}

/** The data of a customer that each request with a token depends on. */
export interface TokenCustomer {
  readonly no: number
  readonly suspended: boolean
  readonly externalId?: string
  /** The customer's own request limits (§11.3). */
  readonly rate?: NonNullable<Principal['rate']>
  readonly totalRate?: NonNullable<Principal['totalRate']>
}

/** Reads data of other modules, so that the next token reflects a change. */
export interface TokenLookup {
  /** Returns undefined if the person is deleted or disabled. */
  findPerson(reader: Reader, scope: Scope, subject: string): Promise<TokenPerson | undefined>
  /**
   * Returns undefined if the client is deleted or lacks the grant `refresh_token`. `reader` is the
   * handle of the caller's transaction.
   */
  findClient(
    clientId: string,
    reader?: Reader,
  ): TokenClient | undefined | Promise<TokenClient | undefined>
  /** Reads a client or an issuer without a cache; undefined: deleted or blocked. */
  findClientPermissions(clientId: string): Promise<ClientPermissions | undefined>
  findCustomer(id: string): Promise<TokenCustomer | undefined>
}

export interface Tokens {
  /** The resources that a request may name (RFC 8707). */
  readonly audiences: Audiences
  /**
   * Verifies an access token of a request with this path, and returns its principal (§3.5),
   * synchronously if it is cached.
   * Throws 401 `invalid_token` with its challenge, and 403 `customer_suspended`.
   *
   * @see RFC 9068 §4
   */
  verifyAccessToken(jwt: string, path: string): Principal | Promise<Principal>
  /** Verifies an access token that an application received, for its `resource` or by default. */
  examineAccessToken(jwt: string, resource: string | undefined): Promise<CredentialVerdict>
  /** Returns the claims of a token that this server signed, even if expired or revoked. */
  readAccessToken(jwt: string): Promise<AccessTokenClaims | undefined>
  /** Returns the subject of an ID token that this server signed, even if expired. */
  readIdTokenSubject(jwt: string): Promise<string | undefined>
  /** Returns whether claims are valid now, for any audience: a resource server may introspect. */
  isActive(claims: AccessTokenClaims): Promise<boolean>
  /** Returns whether a customer exists, and is neither suspended nor being deleted. */
  hasActiveCustomer(id: string): Promise<boolean>
  /** Returns whether claims are valid no more, whatever happens to their customer. */
  hasEnded(claims: AccessTokenClaims): Promise<boolean>
  /** Returns whether a token, its session or its client was revoked. */
  isRevoked(claims: AccessTokenClaims): boolean | Promise<boolean>
  /** Returns the scopes of a token that its client still has. */
  resolveScopes(claims: AccessTokenClaims): Promise<readonly string[]>
  /**
   * Opens a session and issues its first tokens. A function computes the grant in the transaction
   * that stores the session; if it throws, nothing is stored.
   *
   * @example
   * await tokens.openSession(async (tx, sessionId) => {
   *   await recordAudit(tx, { actor, action: 'session.create', target: sessionId }, context)
   *   return { scope, customer, mode, clientId: LOGIN_CLIENT_ID, subject: '7', scopes }
   * })
   */
  openSession(grant: Grant | ComputeGrant, options?: SessionOptions): Promise<SessionTokens>
  /**
   * Issues one access token that ends like those of a session: with the client, and when its person
   * ends all sessions. There is no refresh token, and lists of sessions omit it (§16.8).
   */
  issueSessionToken(
    grant: Grant | ComputeGrant,
    bound: Pick<TokenBound, 'endsAt'>,
  ): Promise<TokenResponse>
  /** Issues an access token without a session. It writes nothing. */
  issueAccessToken(
    grant: Grant & { readonly kind: 'client' | 'workload' },
    bound?: Pick<TokenBound, 'endsAt'>,
  ): Promise<TokenResponse>
  /**
   * Rotates a refresh token and issues the next tokens of its session (§4.2). Throws 401
   * `invalid_grant`; 401 `invalid_client` if the client must authenticate; 403
   * `customer_suspended`; 400 `invalid_scope` and `invalid_target` for a scope and a resource that
   * the session lacks.
   *
   * @param client the presenting client; undefined for `/auth/refresh` without Basic
   */
  refreshSession(
    token: string,
    client: RefreshingClient | undefined,
    options?: RefreshOptions,
  ): Promise<SessionTokens>
  /** Returns whether this server issued a refresh token, even if expired, rotated or revoked. */
  isRefreshToken(token: string): boolean
  /** Returns the data of a refresh token, rotated or not; undefined if its session has ended. */
  findRefreshToken(token: string): Promise<RefreshTokenInfo | undefined>
  /**
   * Revokes a session: its refresh token with the commit, its access tokens on each node within
   * 2 s. Returns false if it had ended.
   *
   * @param owner ends the access that its person gave through its client or session, too
   */
  revokeSession(tx: Tx, sessionId: string, owner?: OwnerOfSession): Promise<boolean>
  /** Revokes a token. The access that its subject gave ends, too. */
  revokeAccessToken(
    tx: Tx,
    claims: Pick<AccessTokenClaims, 'jti' | 'exp'> & Partial<AccessTokenClaims>,
  ): Promise<void>
  /**
   * Revokes all sessions of a person except `exceptId`, the session in which the person changed
   * the password. Returns their number.
   */
  revokeSessionsOfPerson(tx: Tx, scope: Scope, subject: string, exceptId?: string): Promise<number>
  /** Revokes the sessions of a person at one client (§4.5), and what it registered in them. */
  revokeSessionsAtClient(
    tx: Tx,
    scope: Scope,
    subject: string,
    clientId: string,
  ): Promise<EndedAtClient>
  /** Revokes all tokens of a client, for good: its id must never be reused. */
  revokeClient(tx: Tx, scope: Scope | undefined, clientId: string): Promise<void>
  /** Calls `listener` with the id of each customer whose settings have changed, on any node. */
  onCustomerChange(listener: (id: string) => void): void
  /**
   * Applies changed permissions of a client, or of all, to access tokens, on each node within 2 s.
   * `scope` is undefined for clients of no customer.
   */
  publishClientChange(tx: Tx, scope: Scope | undefined, clientId: string | 'all'): Promise<void>
  /** Signs `Gatehook-Assertion` of a request to an upstream (§17.5). */
  readonly signAssertion: SignAssertion
  /** Publishes a new signing key, which signs from the instant `signs_from` (ISO 8601, §4.6). */
  rotateSigningKey(actor: Actor): Promise<{ readonly kid: string; readonly signs_from: string }>
  /** Deletes all signing keys, for one that leaked: access tokens are rejected within 2 s. */
  replaceSigningKeys(actor: Actor): Promise<KeyReplacement>
  /** `/auth/refresh`, `/auth/logout`, `/auth/logout-all`, `/auth/sessions` and the key set. */
  readonly routes: Route[]
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** Names of chores that every node runs. */
  readonly nodeChores: readonly string[]
  /** Reads the revocation feed and rotates signing keys, with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Reads the revocation feed. Without it and the poll, each check queries the database. */
  start(): Promise<void>
  stop(): Promise<void>
}
