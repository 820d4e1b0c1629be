/** Assembles the sign-in of people and of the console's operators. */
import type { Administration } from '../access/administration.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { type ConsoleSessions, createConsoleSessions } from '../people/console-session.ts'
import { createCredentialSync } from '../people/credential-sync.ts'
import { createDevices, type Devices } from '../people/devices.ts'
import { createHasher, type Hasher } from '../people/password.ts'
import { createPeople, createSignInVerifier, type People } from '../people/people.ts'
import { createRecognizedClients } from '../people/recognized-clients.ts'
import { createSecondFactor } from '../people/second-factor.ts'
import type { Catalog } from '../resources/catalog.ts'
import { createDirectory, signInResource } from '../resources/directory.ts'
import type { RowCredentials } from '../resources/rows.ts'
import { defaultPersonScopes } from '../resources/scopes.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { Tokens } from '../tokens/api.ts'
import type { Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'

export interface SignInAssembly {
  readonly administration: Administration
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Tokens
  readonly catalog: Catalog
}

export interface SignInModules {
  readonly people: People
  readonly consoleSessions: ConsoleSessions
  /** Hashes passwords of people and operators, in one queue. */
  readonly hasher: Hasher
  readonly devices: Devices
}

export function assemblePeople(
  { config, random, clock, vault, db, log }: Foundation,
  { administration: admin, record, perform, list, tokens, catalog }: SignInAssembly,
): SignInModules {
  const { service } = catalog
  const hasher = createHasher({ random, clock })
  const devices = createDevices(vault, random)
  const recognizedClients = createRecognizedClients(db, clock, vault)
  const directory = createDirectory(catalog)
  const verifyPassword = createSignInVerifier(
    { admin, vault, hasher, record, directory },
    recognizedClients,
  )
  const people = createPeople(
    {
      admin,
      vault,
      log,
      record,
      perform,
      list,
      tokens,
      hasher,
      devices,
      directory,
      claims: service.claims,
      defaultScopes: defaultPersonScopes(service),
      basicAllowedCidrs: config.basicAllowedCidrs,
    },
    verifyPassword,
    recognizedClients,
  )
  const secondFactor = createSecondFactor({ admin, vault, service: service.name })
  const consoleSessions = createConsoleSessions({
    admin,
    list,
    perform,
    hasher,
    secondFactor,
    verifyPassword,
    devices,
  })
  return { people, consoleSessions, hasher, devices }
}

/**
 * Returns the functions that create, rename and delete the credential of a row that signs in;
 * undefined for a service in which no resource signs in.
 */
export function assembleCredentials(
  { clock, random, trail }: Foundation,
  { resources }: ServiceDefinition,
  {
    revokeSessionsOfPerson,
    evictPerson,
  }: Pick<LateCalls, 'revokeSessionsOfPerson' | 'evictPerson'>,
): RowCredentials | undefined {
  const definition = signInResource(resources)
  if (!definition) return undefined
  const { name: resource, signsIn } = definition
  return createCredentialSync({
    resource,
    username: signsIn!.username,
    tokens: { revokeSessionsOfPerson },
    evict: evictPerson,
    clock,
    random,
    trail,
  })
}
