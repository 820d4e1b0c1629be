/** The interface of this module: the authorization server, and the client data that others need. */

import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { sha256, type Vault } from '../../kernel/secret.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import type { Route } from '../../protocol/http/call.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { Administration } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import type { Devices } from '../people/devices.ts'
import type { SignInApi } from '../people/login.ts'
import type { ClientPermissions, TokenClient, Tokens } from '../tokens/api.ts'
import type { RestoredAt } from '../tokens/single-use.ts'
import { CODE_RETENTION_MS, findCode } from './authorization-codes.ts'
import { authorizeRoutes } from './authorize.ts'
import { verifyClientSecret } from './client.ts'
import type { ClientAdministration } from './client-administration.ts'
import { createClientAuthentication } from './client-authentication.ts'
import type { ClientCache } from './client-cache.ts'
import {
  purgeUnusedClients,
  type RegistrationDeps,
  registrationRoute,
} from './client-registration.ts'
import { clientRoutes } from './client-routes.ts'
import { consentRoutes } from './consent-routes.ts'
import { deviceRoutes } from './device-routes.ts'
import { createFormTickets } from './form-ticket.ts'
import type { IntrospectionDeps } from './introspection.ts'
import { issuerRoutes } from './issuer-routes.ts'
import { createIssuers, findIssuerPermissions } from './issuer-store.ts'
import type { KeySets } from './key-set.ts'
import { metadataRoutes } from './metadata.ts'
import type { AuthorizationLifetimes } from './pages.ts'
import type { OauthParameters } from './parameters.ts'
import { createSecretThrottle } from './secret-throttle.ts'
import { createSignInSessions } from './sign-in-session.ts'
import * as tables from './tables.ts'
import { tokenRoutes } from './token-routes.ts'
import { userinfoRoutes } from './userinfo.ts'

interface OauthDeps {
  readonly administration: Administration
  /** `Tokens` reads the same cache (`findTokenClient`). */
  readonly clients: ClientCache
  readonly tokens: Tokens
  readonly devices: Devices
  readonly people: SignInApi
  readonly identify: Identify
  readonly findKey: IntrospectionDeps['findKey']
  readonly vault: Vault
  readonly list: Lister
  readonly perform: Perform
  /** The display name of the API. */
  readonly service: string
  readonly lifetimes: AuthorizationLifetimes
  /** How clients register themselves (§16.5). */
  readonly registration: Pick<RegistrationDeps, 'mode' | 'limiter' | 'scopes'>
  /** The keys of clients (§16.7). */
  readonly keySets: KeySets
  readonly restoredAt: RestoredAt
  readonly log: Pick<Log, 'warn'>
  /** Whether a `client_id` may be the URL of a document (§16.4). */
  readonly readsDocuments: () => boolean
  /** Whether clients sign persons in with OpenID Connect (§16.10). */
  readonly hasOpenid: boolean
  /** Returns the configured public URL. */
  readonly issuer: () => string
}

export interface Oauth {
  readonly routes: readonly Route[]
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** For the operations of `client-administration.ts`. */
  readonly administration: ClientAdministration
}

export function createOauth(deps: OauthDeps): Oauth {
  const { clients, tokens, devices, people, identify, vault, list, perform } = deps
  const { service, lifetimes, issuer, keySets, restoredAt } = deps
  const { audiences } = tokens
  const { db, clock, random, trail } = deps.administration
  const audit = { clock, random, trail }
  const throttle = createSecretThrottle(clock)
  const hasGrant = async (clientId: string, parameters: OauthParameters): Promise<boolean> => {
    const code = parameters.get('code')
    if (code !== undefined) return (await findCode(db, sha256(code)))?.client_id === clientId
    const token = parameters.get('refresh_token') ?? parameters.get('token') ?? ''
    const owner = (await tokens.findRefreshToken(token))?.clientId
    return (owner ?? (await tokens.readAccessToken(token))?.client_id) === clientId
  }
  const authenticateClient = createClientAuthentication({
    ...{ clients, throttle, clock, hasGrant },
    ...{ db, keySets, issuer, restoredAt, log: deps.log },
  })
  const signIns = createSignInSessions({ ...audit, db, people })
  const tickets = createFormTickets({ clock, vault })
  const administration = { ...deps.administration, tokens, evict: clients.evict }
  const issuers = createIssuers(db, clock)
  const explanation = { db, clock, issuer, people, clients, audiences, keySets, restoredAt }
  const scopes = [...administration.scopes].sort()
  const shared = { ...audit, db, clients, people, devices, issuer, audiences }
  const { changes } = administration
  const pages = { ...shared, signIns, tickets, service, lifetimes, changes }
  return {
    administration,
    routes: [
      ...authorizeRoutes({ ...pages, readIdTokenSubject: tokens.readIdTokenSubject }),
      ...deviceRoutes({ ...pages, authenticateClient, limiter: deps.registration.limiter }),
      ...tokenRoutes({
        ...audit,
        db,
        tokens,
        people,
        issuers,
        explanation,
        log: deps.log,
        authenticateClient,
        identify,
        issuer,
        findKey: deps.findKey,
      }),
      registrationRoute({ ...audit, db, identify, issuer, ...deps.registration }),
      ...metadataRoutes({
        issuer,
        service,
        scopes,
        agentScopes: deps.registration.scopes,
        resources: audiences.paths,
        readsDocuments: deps.readsDocuments,
        hasOpenid: deps.hasOpenid,
        isRegistrationOpen: deps.registration.mode !== 'off',
      }),
      ...userinfoRoutes({ db, identify, people, issuer, hasOpenid: deps.hasOpenid }),
      ...consentRoutes({ ...audit, db, list, tokens }),
      ...clientRoutes(administration, { list, perform }),
      ...issuerRoutes(
        { ...administration, evictIssuer: issuers.evict },
        { list, perform, explanation },
      ),
    ],
    chores: {
      oauth_codes: () =>
        purgeExpired(
          db,
          [tables.authorizationCodes, tables.deviceGrants],
          clock.now() - CODE_RETENTION_MS,
        ),
      registered_clients: () => purgeUnusedClients(db, clock.now()),
      sign_ins: () => purgeExpired(db, [tables.signIns], clock.now()),
    },
  }
}

/** Reads the permissions of a client or an issuer; undefined if it was deleted or is blocked. */
export async function findClientPermissions(
  clients: Pick<ClientCache, 'read'>,
  db: Database,
  id: string,
): Promise<ClientPermissions | undefined> {
  const client = await clients.read(db, id)
  if (!client) return findIssuerPermissions(db, id)
  const { scopes, isFirstParty, describesItself } = client
  return { scopes, firstParty: isFirstParty, describesItself }
}

/**
 * Returns the data of a client that `identity/tokens/` needs to refresh a session; else undefined.
 */
export async function findTokenClient(
  clients: ClientCache,
  clock: Pick<Clock, 'now'>,
  id: string,
  reader?: Reader,
): Promise<TokenClient | undefined> {
  const client = await (reader ? clients.findIn(reader, id) : clients.find(id))
  if (!client?.grantTypes.includes('refresh_token')) return undefined
  return {
    scopes: client.scopes,
    requireAuthOnRefresh: client.requireAuthOnRefresh,
    idTokenAlgorithm: client.idTokenAlgorithm,
    refreshesByOauth: client.source === 'document' || client.keys !== undefined,
    hasSecret: (secret) => verifyClientSecret(client, secret, clock.now()),
  }
}
