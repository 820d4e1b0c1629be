/** The part of people: who signs in to the service, and the operators of its console. */
import type { Administration } from '../access/administration.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { type ConsoleSessions, createConsoleSessions } from '../people/console-session.ts'
import { createDevices, type Devices } from '../people/devices.ts'
import { createHooks } from '../people/hooks.ts'
import { createHasher, type Hasher } from '../people/password.ts'
import { createPeople, createSignIn, type People } from '../people/people.ts'
import { createRecognizedClients } from '../people/recognized-clients.ts'
import { createSecondFactor } from '../people/second-factor.ts'
import type { Catalog } from '../resources/catalog.ts'
import { directoryOf, signingIn } from '../resources/directory.ts'
import type { Credentials } from '../resources/rows.ts'
import { personScopesOf } from '../resources/scopes.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { Tokens } from '../tokens/grant.ts'
import type { Ground } from './ground.ts'

export interface PeopleFrom {
  readonly administration: Administration
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Tokens
  readonly catalog: Catalog
}

export interface PeoplePart {
  readonly people: People
  readonly consoleSessions: ConsoleSessions
  /** Hashes passwords of people and operators, in one queue. */
  readonly hasher: Hasher
  readonly devices: Devices
}

export function peopleOf(ground: Ground, from: PeopleFrom): PeoplePart {
  const { config, random, clock, vault, db } = ground
  const { administration: admin, catalog } = from
  const hasher = createHasher({ random, clock })
  const devices = createDevices(vault, random)
  const recognizedClients = createRecognizedClients(db, clock, vault)
  const deps = {
    ...ground,
    ...from,
    admin,
    hasher,
    devices,
    directory: directoryOf(catalog),
    claims: catalog.service.claims,
    defaultScopes: personScopesOf(catalog.service),
    basicFrom: config.basicAllowedCidrs,
  }
  const judge = createSignIn(deps, recognizedClients)
  const people = createPeople(deps, judge, recognizedClients)
  const service = catalog.service.name
  const secondFactor = createSecondFactor({ admin, vault, service })
  const consoleSessions = createConsoleSessions({ ...deps, judge, secondFactor })
  return { people, consoleSessions, hasher, devices }
}

/** What follows the rows that sign in; `forget` runs for each after the commit. */
export function credentialsOf(
  { clock, random, trail }: Ground,
  { resources }: ServiceDefinition,
  tokens: Pick<Tokens, 'revokeSubject'>,
  forget: (id: number) => void,
): Credentials | undefined {
  const definition = signingIn(resources)
  if (!definition) return undefined
  const { name: resource, signsIn } = definition
  const sources = { clock, random, trail }
  return createHooks({ resource, username: signsIn!.username, tokens, forget, ...sources })
}
