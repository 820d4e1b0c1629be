/** Assembles the sign-in of people, of the portal and of the console's operators. */

import type { Catalog } from '../declare/resources/catalog.ts'
import { createDirectory, hasMailNames, signInResource } from '../declare/resources/directory.ts'
import type { RowCredentials } from '../declare/resources/rows.ts'
import { defaultPersonScopes } from '../declare/resources/scopes.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import type { RecordEvent } from '../history/events/store.ts'
import type { Administration } from '../identity/access/administration.ts'
import type { Identify } from '../identity/access/authenticate.ts'
import type { AccessEnd } from '../identity/access/given-access.ts'
import { createConsoleSessions } from '../identity/people/console-session.ts'
import { createCredentialSync } from '../identity/people/credential-sync.ts'
import { createDevices, type Devices } from '../identity/people/devices.ts'
import { invitationTemplates } from '../identity/people/operator-invitation.ts'
import {
  createOperatorOpenid,
  OPENID_PATH,
  type OperatorOpenid,
} from '../identity/people/operator-openid.ts'
import { createOperatorProvider } from '../identity/people/operator-provider.ts'
import { createPasskeyCeremonies } from '../identity/people/passkey-ceremony.ts'
import { createHasher, type Hasher } from '../identity/people/password.ts'
import { createPeople, createSignInVerifier, type People } from '../identity/people/people.ts'
import { createRecognizedClients } from '../identity/people/recognized-clients.ts'
import { createSecondFactor } from '../identity/people/second-factor.ts'
import type { Tokens } from '../identity/tokens/api.ts'
import { fetchBounded } from '../outbound/transport/fetch-bounded.ts'
import { createPortal } from '../pages/portal/portal.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import type { MailOutbox } from '../platform/mail/outbox.ts'
import type { Step } from '../protocol/http/call.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { MayStillAdminister } from './current-rights.ts'
import type { Component, Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'
import { assembleMail, type MailModule } from './mail.ts'

export interface SignInAssembly {
  readonly administration: Administration
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Tokens
  readonly catalog: Catalog
  readonly mailOutbox: MailOutbox
  readonly queue: JobQueue
  readonly mayStillAdminister: MayStillAdminister
  readonly accessEndMs: AccessEnd
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
  readonly mail: MailModule
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
    queue,
    mayStillAdminister,
    accessEndMs,
  }: SignInAssembly,
): SignInModules {
  const { config, random, clock, vault, db, log, publicUrl } = foundation
  const { restoredAt } = foundation.restore
  const { service } = catalog
  const hasher = createHasher({ random, clock })
  const devices = createDevices(vault, random)
  const recognizedClients = createRecognizedClients(db, clock, vault)
  const directory = createDirectory(catalog)
  const verifyPassword = createSignInVerifier(
    { admin, vault, hasher, record, directory },
    recognizedClients,
  )
  const passkeys = { admin, vault, service: service.name, publicUrl, restoredAt }
  const ceremonies = createPasskeyCeremonies({
    ...passkeys,
    realm: 'person',
    origins: config.corsOrigins === '*' ? [] : config.corsOrigins,
  })
  const people = createPeople(
    {
      ceremonies,
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
  const isMounted = foundation.mounted !== undefined
  const consoleSessions = createConsoleSessions({
    admin,
    passwords: config.operatorsPasswords,
    mayStillAdminister,
    accessEndMs,
    operatorOpenid: assembleOperatorOpenid(foundation, admin),
    list,
    perform,
    hasher,
    secondFactor,
    verifyPassword,
    // Only a page of this server opens a session of the console.
    ceremonies: createPasskeyCeremonies({ ...passkeys, realm: 'operator', origins: [] }),
    devices,
    publicUrl,
    outbox,
    isMounted,
  })
  const entries = [...catalog.entries.values()]
  const portal = createPortal({
    admin,
    mayStillAdminister,
    accessEndMs,
    list,
    perform,
    people,
    devices,
    names: directory?.names ?? 'installation',
    publicUrl,
    isFramed: config.portalFrameAncestors.length > 0,
    isMounted,
    seesAllRows: (person) => entries.every(({ holdsAll }) => holdsAll(person)),
  })
  const sessions: PageSessions = {
    routes: [...consoleSessions.routes, ...portal.routes],
    chores: { ...consoleSessions.chores, ...portal.chores },
    guard: (next) => portal.guard(consoleSessions.guard(next)),
    identifyOr: (next) => portal.identifyOr(consoleSessions.identifyOr(next)),
  }
  const mail = assembleMail(foundation, service, queue, {
    templates: {
      ...people.mailTemplates,
      ...invitationTemplates({ admin, service: service.name, publicUrl }),
    },
    mayStillMail: mayStillAdminister,
  })
  return { people, sessions, hasher, devices, mail }
}

/** Assembles the sign-in of operators with an identity provider, if there is one (§16.9). */
function assembleOperatorOpenid(
  { config, vault, log, publicUrl }: Foundation,
  admin: Administration,
): OperatorOpenid | undefined {
  const { operatorsIssuer: issuer, operatorsPasswords: passwords } = config
  if (issuer === null) return undefined
  const provider = createOperatorProvider({
    issuer,
    clientId: config.operatorsClientId!,
    clientSecret: config.operatorsClientSecret,
    scopes: config.operatorsScopes,
    claim: config.operatorsClaim,
    roles: config.operatorsRoles!,
    redirectUri: () => publicUrl() + OPENID_PATH,
    fetch: fetchBounded,
  })
  return createOperatorOpenid({ admin, passwords, provider, issuer, vault, log })
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
