/** The options of `service({…})`, and the mistakes of their form. */
import type { ClaimsHook } from '../../identity/people/person.ts'
import { isWebUrl } from '../../kernel/uri.ts'
import { reportMistakes, reportUnknown } from '../../protocol/fields/declaration-mistakes.ts'
import { isSentence } from '../../protocol/fields/json-value.ts'
import type { VersionOptions } from '../versions/declaration.ts'
import { declaredMembers } from './declared-members.ts'
import { isMigration, type MigrationOptions } from './migration-options.ts'
import { isOwnEvent, type OwnEvent } from './own-event.ts'
import { type AnyResource, Resource } from './resource.ts'
import { type ExternalEvent, isExternalEvent } from './service-events.ts'
import { isTexts } from './sign-in.ts'

export interface ServiceOptions {
  /** The name in docs and pages. */
  readonly name: string
  /** The name in `application/vnd.<vendor>.api.v1+json`. Default: `gatehook`. */
  readonly vendor?: string
  /** The license of the API, for OpenAPI: `{ name: 'Apache 2.0', identifier: 'Apache-2.0' }`. */
  readonly license?: ServiceLicense
  /** The contact for callers, for OpenAPI: `{ name: 'Support', email: 'api@example.com' }`. */
  readonly contact?: ServiceContact
  /** The majors, oldest first. */
  readonly versions: Readonly<Record<`v${number}`, VersionOptions>>
  /** The results of `resource(…)` and its chain. */
  readonly resources: readonly AnyResource[]
  /** The events that own code emits: results of `event(…)`. */
  readonly events?: readonly OwnEvent[]
  /**
   * Event types of other backends: `payment.succeeded`, or `{type, scope}` with the scope that
   * reads them (§9.14), or `{event: event(…), from: ['api']}` with the members of the object.
   */
  readonly externalEvents?: readonly (string | ExternalEvent)[]
  /** Changes of tables that are not additions (§6.6), oldest first; each is applied once. */
  readonly migrations?: readonly MigrationOptions[]
  /**
   * Returns additional claims of a person's access tokens (§4.1) from the person and its row. Pure;
   * runs at sign-in and at each refresh. Reserved claims are omitted.
   */
  readonly claims?: ClaimsHook
  /** Rights that no resource has, such as `reports:read`, for `POST /keys/verify` (§17.3). */
  readonly scopes?: readonly string[]
  /** The most scopes of clients with a document (§16.4). Default: those of a new person. */
  readonly oauth?: { readonly documents?: { readonly scopes?: readonly string[] } }
}

/** A license by its SPDX identifier, or by its address. */
export interface ServiceLicense {
  readonly name: string
  readonly identifier?: string
  readonly url?: string
}

export interface ServiceContact {
  readonly name: string
  readonly url?: string
  readonly email?: string
}

/** The characters of media types that both `Accept` and `Content-Type` have without quotes. */
const VENDOR = /^[a-z0-9][a-z0-9._-]{0,63}$/i

const TITLE_MAX = 200
const isTitle = (value: unknown): boolean =>
  isSentence(value) && value.length <= TITLE_MAX && !/\p{C}/u.test(value)

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isOptionalUrl = (value: unknown): boolean =>
  value === undefined || (typeof value === 'string' && isWebUrl(value))

/** Returns whether the OpenAPI document with the license is valid. */
const isLicense = (given: unknown): boolean => {
  if (!isObject(given)) return false
  const { name, identifier, url } = given as Partial<ServiceLicense>
  const isIdentified = identifier === undefined || (isText(identifier) && url === undefined)
  return isText(name) && isIdentified && isOptionalUrl(url)
}

/** Returns whether the OpenAPI document with the contact is valid. */
const isContact = (given: unknown): boolean => {
  if (!isObject(given)) return false
  const { name, url, email } = given as Partial<ServiceContact>
  const hasEmail =
    email === undefined || (typeof email === 'string' && /^[^\s@]+@[^\s@]+$/.test(email))
  return isText(name) && isOptionalUrl(url) && hasEmail
}

/** Reports members that are unknown, missing or have no form. Returns the valid ones. */
export function readServiceOptions(options: Partial<ServiceOptions> | undefined): ServiceOptions {
  reportUnknown('service', options, declaredMembers.service)
  const { name, versions, resources, migrations = [] } = options ?? {}
  const { events = [], externalEvents = [] } = options ?? {}
  const { vendor = 'gatehook', license, contact, claims, oauth, scopes = [] } = options ?? {}
  const documentScopes = oauth?.documents?.scopes
  const hasVersions = isObject(versions) && Object.values(versions!).every(isObject)
  const hasResources = Array.isArray(resources)
  const isResource = (resource: unknown) => resource instanceof Resource
  const hasEvents = Array.isArray(externalEvents) && externalEvents.every(isExternalEvent)
  const hasOwnEvents = Array.isArray(events) && events.every(isOwnEvent)
  const hasMigrations = Array.isArray(migrations) && migrations.every(isMigration)
  const missing = [
    !isTitle(name) && `name is required: one line of at most ${TITLE_MAX} characters, "Notes"`,
    !hasVersions && "versions is required, for example { v1: { released: '2026-06-01' } }",
    !hasResources && 'resources is required: an array of resource(…)',
    hasResources &&
      !resources.every(isResource) &&
      'resources: each is the result of resource(…); modules that import each other have undefined',
    !hasOwnEvents && "events is an array of event(…): [event('invoice.overdue', invoices)]",
    !hasEvents &&
      "externalEvents is an array of types: ['payment.succeeded'], or { event: event(…) }",
    !hasMigrations &&
      "migrations is an array: [{ number: 1, name: 'note becomes memo', sql: 'ALTER TABLE …' }]",
    !(typeof vendor === 'string' && VENDOR.test(vendor)) &&
      'vendor is a text of letters, digits, ".", "_" and "-": \'acme\'',
    license !== undefined &&
      !isLicense(license) &&
      "license has a name, and an SPDX identifier or a URL: { name: 'MIT', identifier: 'MIT' }",
    contact !== undefined &&
      !isContact(contact) &&
      "contact has a name, and a URL or an address: { name: 'Support', email: 'api@example.com' }",
    claims !== undefined && typeof claims !== 'function' && 'claims is a function',
    !isTexts(scopes) && "scopes is an array of scopes: ['reports:read']",
    !isTexts(documentScopes) && 'oauth.documents.scopes is an array of scopes',
  ].filter((sentence) => sentence !== false)
  reportMistakes(missing.map((sentence) => `service: ${sentence}`))
  return {
    ...options,
    name: String(name),
    versions: hasVersions ? versions! : { v1: { released: '2000-01-01' } },
    resources: hasResources ? resources.filter(isResource) : [],
    events: hasOwnEvents ? events : [],
    externalEvents: hasEvents ? externalEvents : [],
    migrations: hasMigrations ? migrations : [],
    scopes: isTexts(scopes) ? scopes : [],
    ...(isTexts(documentScopes) ? {} : { oauth: {} }),
  }
}
