/** Assembles the sign-in of people, of the portal and of the console's operators. */
import type { Administration } from '../access/administration.ts'
import type { Identify } from '../access/authenticate.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Step } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import type { MailOutbox } from '../mail/outbox.ts'
import { createConsoleSessions } from '../people/console-session.ts'
import { createCredentialSync } from '../people/credential-sync.ts'
import { createDevices, type Devices } from '../people/devices.ts'
import { invitationTemplates } from '../people/operator-invitation.ts'
import { createHasher, type Hasher } from '../people/password.ts'
import { createPeople, createSignInVerifier, type People } from '../people/people.ts'
import { createRecognizedClients } from '../people/recognized-clients.ts'
import { createSecondFactor } from '../people/second-factor.ts'
import { createPortal } from '../portal/portal.ts'
import type { Catalog } from '../resources/catalog.ts'
import { createDirectory, hasMailNames, signInResource } from '../resources/directory.ts'
import type { RowCredentials } from '../resources/rows.ts'
import { defaultPersonScopes } from '../resources/scopes.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { Tokens } from '../tokens/api.ts'
import type { Component, Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'
import { assembleMail, type MailComponent } from './mail.ts'

export interface SignInAssembly {
  readonly administration: Administration
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Tokens
  readonly catalog: Catalog
  readonly mailOutbox: MailOutbox
}

/** The sessions of the server's own pages: console and portal. */
interface PageSessions extends Pick<Component, 'routes' | 'chores'> {
  /** Wraps the step that authenticates with credentials: a session's cookie takes its place. */
  guard(next: Step): Step
  /** Identifies the caller of a request of the own pages by its session, of others by `next`. */
  identifyOr(next: Identify): Identify
}

export interface SignInModules {
  readonly people: People
  readonly sessions: PageSessions
  /** Hashes passwords of people and operators, in one queue. */
  readonly hasher: Hasher
  readonly devices: Devices
  readonly mail: MailComponent
}

export function assemblePeople(
  foundation: Foundation,
  {
    administration: admin,
    record,
    perform,
    list,
    tokens,
    catalog,
    mailOutbox: outbox,
  }: SignInAssembly,
): SignInModules {
  const { config, random, clock, vault, db, log, publicUrl } = foundation
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
      outbox,
      wording: { service: service.name, ...service.mail },
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
    publicUrl,
    outbox,
  })
  const entries = [...catalog.entries.values()]
  const portal = createPortal({
    admin,
    list,
    perform,
    people,
    devices,
    names: directory?.names ?? 'installation',
    publicUrl,
    isFramed: config.portalFrameAncestors.length > 0,
    seesAllRows: (person) => entries.every(({ holdsAll }) => holdsAll(person)),
  })
  const sessions: PageSessions = {
    routes: [...consoleSessions.routes, ...portal.routes],
    chores: { ...consoleSessions.chores, ...portal.chores },
    guard: (next) => portal.guard(consoleSessions.guard(next)),
    identifyOr: (next) => portal.identifyOr(consoleSessions.identifyOr(next)),
  }
  const mail = assembleMail(foundation, service, outbox, {
    ...people.mailTemplates,
    ...invitationTemplates({ admin, service: service.name, publicUrl }),
  })
  return { people, sessions, hasher, devices, mail }
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
  outbox: MailOutbox,
): RowCredentials | undefined {
  const definition = signInResource(resources)
  if (!definition) return undefined
  const { name: resource, signsIn } = definition
  return createCredentialSync({
    resource,
    username: signsIn!.username,
    tokens: { revokeSessionsOfPerson },
    outbox: hasMailNames(definition) ? outbox : undefined,
    evict: evictPerson,
    clock,
    random,
    trail,
  })
}
