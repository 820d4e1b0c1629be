/** The authenticated caller of a request, and its scope in the database (§1). */

/** Live data or test data; each credential belongs to one mode. */
export type Mode = 'live' | 'test'

/** The roles of operators. Each has the permissions of the roles before it. */
export const ROLES = ['viewer', 'support', 'administrator'] as const

export type Role = (typeof ROLES)[number]

/** By which assertion of a trusted issuer a caller has its token (§16.8). */
export interface Assertion {
  /** The id of the issuer. */
  readonly issuer: string
  /** The id of the rule that the assertion matched. */
  readonly rule: string
  /** A hash of how the issuer names the person; a workload has none. */
  readonly identity?: string
}

export interface Principal {
  /** Customer id, `cus_…`. */
  readonly customer: string
  /** The customer's id in the team's own system, if it has one and it costs no lookup (§17.2). */
  readonly externalId?: string
  readonly mode: Mode
  /** Customer and mode as one integer, the first column of every row and index. */
  readonly scope: Scope
  /**
   * `workload`: a caller that a trusted issuer names (§16.8); `portal`: a session that a one-time
   * link opened; `cli`: the command line, in its process;
   * `job`: background work of the team's code, which sends no requests.
   */
  readonly kind: 'key' | 'client' | 'workload' | 'person' | 'operator' | 'portal' | 'cli' | 'job'
  /** Set for a person's token that a third-party client holds (§4.5). */
  readonly thirdParty?: true
  /**
   * Set for a session of the portal, also for that of a person (§12.2): whether it concerns all
   * rows of the customer, or those of the person.
   */
  readonly inPortal?: 'all' | 'own'
  /** Set for a request of a tool (§16.11): it reaches no rows that are closed to agents. */
  readonly isAgent?: true
  /** Set for a token of a client that no operator has verified (§16.4, §16.5). */
  readonly isUnverified?: true
  /** The id of a key or client, the row id of a person, `issuer|sub` of a workload (§3.7). */
  readonly subject: string
  /** The name of the key or person, or an operator's e-mail address, if it costs no lookup. */
  readonly name?: string
  readonly scopes: ReadonlySet<string>
  /** The role of an operator; other principals have the permissions of their scopes alone. */
  readonly role?: Role
  /** The caller that acts for a customer (`/admin/as`). */
  readonly caller?: Principal
  readonly keyId?: string
  /** The client of a token; of a workload, its issuer's id. */
  readonly clientId?: string
  /** Of a token by an assertion of a trusted issuer (§16.8): the token ends with its rule. */
  readonly assertion?: Assertion
  /** The scopes that the client of a token may request; those of the caller are among them. */
  readonly clientScopes?: readonly string[]
  readonly sessionId?: string
  /**
   * Of Basic and a session of the portal: the revision of the credential that opened it; of a key:
   * when its secret was created.
   */
  readonly revision?: number
  /** The version this credential is pinned to, for example `v1`. */
  readonly version?: string
  /** The request limit of each credential of this customer, if it has its own (§11.3). */
  readonly rate?: { readonly limit: number; readonly windowMs: number }
  /** The request limit over all credentials of this customer, if it has one (§11.3). */
  readonly totalRate?: { readonly limit: number; readonly windowMs: number }
}

/** Returns the row id of the person that a principal acts for, as a string. */
export const personIdOf = ({ kind, subject }: Principal): string | undefined =>
  kind === 'person' ? subject : undefined

/** A principal as stored work names it: the members on which its rights depend. */
export type StoredPrincipal = Pick<
  Principal,
  'kind' | 'subject' | 'scope' | 'role' | 'clientId' | 'assertion' | 'sessionId' | 'revision'
>

/**
 * Returns the members that stored work names of its maker: work of a person ends with the session,
 * or the password of Basic, work of a key with the secret. Operators may sign out before its end.
 */
export const toStoredPrincipal = ({
  kind,
  subject,
  scope,
  role,
  clientId,
  assertion,
  sessionId,
  revision,
}: Principal): StoredPrincipal => ({
  ...{ kind, subject, scope },
  ...(role !== undefined && { role }),
  ...(clientId !== undefined && { clientId }),
  ...(assertion && { assertion }),
  ...(kind === 'person' && sessionId !== undefined && { sessionId }),
  ...(revision !== undefined && { revision }),
})

/** The kinds of caller that `route-table.ts` distinguishes. */
export type CallerKind = Principal['kind'] | 'application'

/**
 * Returns the kind of a caller. `application` is a third-party client acting for a person; `portal`
 * is any session of the portal.
 */
export function callerKind({ thirdParty, inPortal, kind }: Principal): CallerKind {
  if (inPortal) return 'portal'
  return thirdParty ? 'application' : kind
}

/**
 * Returns the name of a credential for what belongs to it, such as idempotency keys. A person and
 * each application of the person have names of their own, so that none reads what belongs to
 * another.
 */
export const credentialName = ({
  scope,
  kind,
  subject,
  clientId,
}: Pick<Principal, 'scope' | 'kind' | 'subject' | 'clientId'>): string =>
  JSON.stringify([scope, kind, subject, clientId ?? null])

/**
 * Returns the name of a caller for what it uses up. Applications of a person that no operator has
 * verified share one name, because a person can have any number of them; so do the workloads of an
 * issuer in a customer and mode, because those who run them choose their subjects.
 */
export const callerName = (
  principal: Pick<Principal, 'scope' | 'kind' | 'subject' | 'clientId' | 'isUnverified'>,
): string => {
  if (principal.kind === 'workload') return credentialName({ ...principal, subject: '' })
  return credentialName(
    principal.isUnverified ? { ...principal, clientId: 'unverified' } : principal,
  )
}

/** Returns whether a principal has the permissions of a role. */
export const hasRole = (principal: Pick<Principal, 'role'>, role: Role): boolean =>
  principal.role === undefined || ROLES.indexOf(principal.role) >= ROLES.indexOf(role)

/**
 * Customer and mode in one integer: `2 * customer number + (live ? 1 : 0)`. It is the first column
 * of every key and index, so customers and modes stay separate (§1.1).
 */
export type Scope = number & { readonly scope: unique symbol }

export const scopeOf = (customerNo: number, mode: Mode): Scope =>
  (customerNo * 2 + (mode === 'live' ? 1 : 0)) as Scope

/** Returns the customer's number, the same for both modes. */
/** Returns the scopes of both modes. */
export const scopesOf = (customerNo: number): readonly Scope[] => [
  scopeOf(customerNo, 'live'),
  scopeOf(customerNo, 'test'),
]

export const customerNoOf = (scope: Scope): number => Math.floor(scope / 2)

export const modeOf = (scope: Scope): Mode => (scope % 2 === 1 ? 'live' : 'test')
