/** The part of OAuth: the authorization server, and what others ask about its clients. */
import type { Administration } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { type KnownClients, knownClients } from '../oauth/known-clients.ts'
import { clientFacts, clientPermissions, createOauth, type Oauth } from '../oauth/room.ts'
import type { Devices } from '../people/devices.ts'
import type { People } from '../people/people.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { TokenLookup, Tokens } from '../tokens/grant.ts'
import type { Ground } from './ground.ts'

export interface OauthFrom {
  readonly administration: Administration
  readonly service: ServiceDefinition
  readonly clients: KnownClients
  readonly tokens: Tokens
  readonly people: People
  readonly devices: Devices
  readonly identify: Identify
  readonly list: Lister
  readonly perform: Perform
}

/** Made before the tokens, which ask it when a session goes on. */
export function clientsOf(ground: Ground): {
  clients: KnownClients
  lookup: Pick<TokenLookup, 'client' | 'clientPermissions'>
} {
  const clients = knownClients(ground)
  const lookup = {
    client: clientFacts(clients, ground.clock),
    clientPermissions: (id: string) => clientPermissions(ground.db, id),
  }
  return { clients, lookup }
}

export const oauthPart = (ground: Ground, from: OauthFrom): Oauth =>
  createOauth({
    ...from,
    vault: ground.vault,
    service: from.service.name,
    issuer: ground.publicUrl,
  })
