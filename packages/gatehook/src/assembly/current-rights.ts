/**
 * Reads the rights that a caller has now, in the transaction that makes a registration with them
 * (§9.14), or in which something takes effect that an administrator caused before (§13). It holds
 * the rows whose end ends rights: of two at once, one sees the other. A request can have begun with
 * rights that another node has not ended yet.
 */
import { ADMIN_SCOPE } from '../identity/access/administration.ts'
import type { AccessEnd } from '../identity/access/given-access.ts'
import { findKeyEnd, holdKeyScopes } from '../identity/access/key-reader.ts'
import { holdClient } from '../identity/oauth/client-store.ts'
import { findRule, holdRule } from '../identity/oauth/issuer-store.ts'
import { readIdentityHashes } from '../identity/people/identities.ts'
import { isActingOperator } from '../identity/people/operator-access.ts'
import { type CredentialRow, lockCredential } from '../identity/people/store.ts'
import { LOGIN_CLIENT_ID } from '../identity/tokens/api.ts'
import { holdSession } from '../identity/tokens/store.ts'
import type { Assertion, Principal, StoredPrincipal } from '../kernel/principal.ts'
import type { CurrentScopes } from '../outbound/webhooks/authority.ts'
import type { MakerRights } from '../outbound/webhooks/makers.ts'
import { findLinkScopes } from '../pages/portal/store.ts'
import type { Tx } from '../platform/storage/database.ts'

const parseScopes = (json: string): ReadonlySet<string> => new Set(JSON.parse(json) as string[])

type Holder = StoredPrincipal & Pick<Principal, 'scopes' | 'caller'>

/** The scopes of an administrator. */
const ADMINISTRATION: ReadonlySet<string> = new Set([ADMIN_SCOPE])

/** A row on which the rights of some callers depend. A caller without one has no rights. */
interface Dependency {
  readonly isOf: (principal: Holder) => boolean
  /** Returns the scopes that it leaves; undefined: it has ended. */
  readonly read: (tx: Tx, principal: Holder) => Promise<ReadonlySet<string> | undefined>
}

/** Whether the administrator who caused what takes effect now may still cause it. */
export type MayStillAdminister = (tx: Tx, maker: StoredPrincipal) => Promise<boolean>

export interface CurrentRights {
  readonly currentScopes: CurrentScopes
  readonly mayStillAdminister: MayStillAdminister
  readonly accessEndMs: AccessEnd
  readonly makerRights: MakerRights
}

/**
 * Returns the current scopes of callers, and the rights of the makers of registrations.
 *
 * @param resource the resource whose rows sign in; undefined: the service has none
 */
export function createCurrentRights(
  resource: string | undefined,
  now: () => number,
): CurrentRights {
  const lockPerson = async (tx: Tx, subject: string): Promise<CredentialRow | undefined> => {
    if (resource === undefined) return undefined
    const row = await lockCredential(tx, resource, Number(subject))
    return row?.disabled === 0 ? row : undefined
  }
  const clientScopes = async (tx: Tx, clientId: string) => {
    const row = await holdClient(tx, clientId)
    return row?.blocked === 0 ? parseScopes(row.scopes) : undefined
  }

  /** In the order in which other transactions lock these rows. */
  const dependencies: readonly Dependency[] = [
    {
      isOf: ({ kind, clientId }) =>
        kind === 'client' || (kind === 'person' && clientId !== undefined && !isLogin(clientId)),
      read: (tx, { clientId }) => clientScopes(tx, clientId!),
    },
    {
      isOf: ({ kind }) => kind === 'person',
      async read(tx, { subject, revision }) {
        const row = await lockPerson(tx, subject)
        const isCurrent = revision === undefined || row?.revision === revision
        return row && isCurrent ? parseScopes(row.scopes) : undefined
      },
    },
    {
      isOf: ({ assertion }) => assertion !== undefined,
      async read(tx, { assertion }) {
        const rule = await holdRule(tx, assertion!.issuer, assertion!.rule)
        return rule && new Set(rule.scopes)
      },
    },
    {
      isOf: ({ kind, sessionId }) => kind === 'person' && sessionId !== undefined,
      read: async (tx, { scope, sessionId, scopes }) =>
        (await holdSession(tx, { scope, id: sessionId! })) ? scopes : undefined,
    },
    {
      isOf: ({ kind }) => kind === 'key',
      async read(tx, { scope, subject, revision }) {
        const json = await holdKeyScopes(tx, { scope, id: subject, revision }, now())
        return json === undefined ? undefined : parseScopes(json)
      },
    },
    {
      isOf: ({ kind }) => kind === 'portal',
      async read(tx, { subject }) {
        const json = await findLinkScopes(tx, subject, now())
        return json === undefined ? undefined : parseScopes(json)
      },
    },
    {
      isOf: ({ kind, caller }) => kind === 'operator' && !caller,
      read: async (tx, operator) =>
        (await isActingOperator(tx, operator)) ? operator.scopes : undefined,
    },
    // Of the machine itself: nothing ends these.
    { isOf: ({ kind }) => kind === 'cli' || kind === 'job', read: async (_, { scopes }) => scopes },
  ]

  const currentScopes = createCurrentScopes(dependencies)
  return {
    currentScopes,
    async mayStillAdminister(tx, maker) {
      const scopes = await currentScopes(tx, { ...maker, scopes: ADMINISTRATION })
      return scopes?.has(ADMIN_SCOPE) === true
    },
    accessEndMs: async (tx, { kind, scope, subject: id, revision }) =>
      kind === 'key' ? findKeyEnd(tx, { scope, id, revision }) : undefined,
    makerRights: {
      async person(tx, subject) {
        const row = await lockPerson(tx, subject)
        if (!row) return undefined
        return { scopes: parseScopes(row.scopes), identities: await readIdentityHashes(tx, row) }
      },
      client: clientScopes,
      async rule(tx, { issuer, rule: id }: Assertion) {
        const rule = await findRule(tx, issuer, id)
        return rule && new Set(rule.scopes)
      },
    },
  }
}

/** Returns the function that reads what all dependencies of a caller leave. */
function createCurrentScopes(dependencies: readonly Dependency[]) {
  const currentScopes = async (
    tx: Tx,
    principal: Holder,
  ): Promise<ReadonlySet<string> | undefined> => {
    const { caller } = principal
    let scopes: ReadonlySet<string> = principal.scopes
    if (caller) {
      const left = await currentScopes(tx, caller)
      return left?.size === caller.scopes.size ? scopes : undefined
    }
    const own = dependencies.filter(({ isOf }) => isOf(principal))
    if (own.length === 0) return undefined
    for (const { read } of own) {
      const left = await read(tx, principal)
      if (!left) return undefined
      scopes = new Set([...scopes].filter((scope) => left.has(scope)))
    }
    return scopes
  }
  return currentScopes
}

const isLogin = (clientId: string): boolean => clientId === LOGIN_CLIENT_ID
