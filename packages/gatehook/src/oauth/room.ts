/** The room put together: the authorization server with its clients, pages and consents. */
import type { Administration } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import type { Route } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Lister } from '../lists/list.ts'
import type { Devices } from '../people/devices.ts'
import type { SignInApi } from '../people/login.ts'
import type { Database, Reader } from '../storage/database.ts'
import type { ClientPermissions, TokenClient, Tokens } from '../tokens/api.ts'
import { authorizeRoutes } from './authorize-routes.ts'
import { createBrowsers, purgeSignIns } from './browser.ts'
import { holdsSecret } from './client.ts'
import { clientAuthentication } from './client-authentication.ts'
import { clientRoutes } from './client-routes.ts'
import { findClient } from './client-store.ts'
import type { ClientAdministration } from './clients.ts'
import { purgeCodes } from './codes.ts'
import { consentRoutes } from './consent-routes.ts'
import { createGuesses } from './guesses.ts'
import type { KnownClients } from './known-clients.ts'
import { metadataRoutes } from './metadata.ts'
import { tokenRoutes } from './token-routes.ts'

export interface OauthDeps {
  readonly administration: Administration
  /** Made before the tokens, which ask it (`clientFacts`). */
  readonly clients: KnownClients
  readonly tokens: Tokens
  readonly devices: Devices
  readonly people: SignInApi
  readonly identify: Identify
  readonly vault: Vault
  readonly list: Lister
  readonly perform: Perform
  /** As people know the API. */
  readonly service: string
  /** The configured public URL. */
  readonly issuer: () => string
}

export interface Oauth {
  readonly routes: readonly Route[]
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  /** What the acts of `clients.ts` take. */
  readonly administration: ClientAdministration
}

export function createOauth(deps: OauthDeps): Oauth {
  const { clients, tokens, people, vault, list, perform, service, issuer, identify } = deps
  const { db, clock, random, trail } = deps.administration
  const sources = { clock, random, trail }
  const guesses = createGuesses(clock)
  const authenticate = clientAuthentication({ clients, guesses, clock })
  const browsers = createBrowsers({ db, ...sources, vault, people })
  const administration = { ...deps.administration, tokens, forget: clients.forget }
  const scopes = [...administration.scopes].sort()
  return {
    administration,
    routes: [
      ...authorizeRoutes({ ...deps, ...sources, db, browsers }),
      ...tokenRoutes({ db, ...sources, tokens, people, authenticate, identify, issuer }),
      ...metadataRoutes({ issuer, service, scopes }),
      ...consentRoutes({ db, ...sources, list, tokens }),
      ...clientRoutes(administration, { list, perform }),
    ],
    chores: {
      oauth_codes: () => purgeCodes(db, clock.now()),
      sign_ins: () => purgeSignIns(db, clock.now()),
    },
  }
}

/** Reads a client's current permissions from the database; undefined when it is deleted. */
export async function clientPermissions(
  db: Database,
  id: string,
): Promise<ClientPermissions | undefined> {
  const row = await findClient(db, id)
  return row && { scopes: JSON.parse(row.scopes), firstParty: row.first_party !== 0 }
}

/** What the tokens' room asks about a client when a session is refreshed. */
export const clientFacts =
  (clients: KnownClients, clock: { now(): number }) =>
  async (id: string, reader?: Reader): Promise<TokenClient | undefined> => {
    const client = await (reader ? clients.within(reader, id) : clients.find(id))
    if (!client?.grantTypes.includes('refresh_token')) return undefined
    return {
      scope: client.scope,
      scopes: client.scopes,
      requireAuthOnRefresh: client.requireAuthOnRefresh,
      hasSecret: (secret) => holdsSecret(client, secret, clock.now()),
    }
  }
