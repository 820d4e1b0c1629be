/**
 * A webhook registration: its request bodies and its representation (§9.1, §9.2). Pure; the
 * operations are in `registrations.ts`, their SQL in `registration-store.ts`.
 */
import { overlapSeconds } from '../access/secret-store.ts'
import type { EventAccess } from '../events/event-access.ts'
import { patternsOfTypes } from '../events/event-pattern.ts'
import { bool, line, optional, orNull, type Read, required, setOf } from '../kernel/members.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Collection, View } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { Value } from '../storage/database.ts'
import { findTargetProblem, type TargetProblem } from '../transport/target.ts'

export interface Registration {
  readonly no: number
  readonly id: string
  readonly tag: string
  readonly scope: Scope
  readonly url: string
  /** JSON array of types and patterns. */
  readonly events: string
  readonly description: string | null
  /** JSON array of the maker's read scopes; null until `fillScopes` stores them. */
  readonly scopes: string | null
  readonly api_version: string
  /** The person that is its maker. */
  readonly subject: string | null
  /** The OAuth client that is its maker, for itself or for the person. */
  readonly client_id: string | null
  readonly active: number
  readonly disabled_reason: string | null
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

/** The event types of the service. */
interface WebhookEventTypes extends EventAccess {
  /** A sample object in the newest shape, as JSON text. */
  sample(type: string): string
}

export const MAX_REGISTRATIONS = 50
const MAX_URL = 2048
const MAX_EVENTS = 100
const MAX_DESCRIPTION = 500

const DEVELOPMENT =
  'must begin with https://; to develop with a receiver of this machine or network, start the ' +
  'service with GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1'

const sentences: Readonly<Record<TargetProblem, string>> = {
  invalid: 'must be an absolute https URL',
  not_https: 'must begin with https://',
  credentials: 'must not hold a user name or password',
  fragment: 'must not have a fragment',
  address: 'must not lead to a private or local address',
}

/** Whether the text of a URL names an address of this machine or network. */
const isLocal = (text: string): boolean =>
  findTargetProblem(text.replace(/^http:/i, 'https:'), false) === 'address'

/** Reads a URL. `verifyReceiver` checks its address, with an error code of its own. */
const readUrl =
  (allowPrivate: boolean): Read<string> =>
  (value, wrong) => {
    const text = line(MAX_URL)(value, wrong)
    if (text === undefined) return undefined
    // The URL standard drops white space: the stored text would differ from the requested URL.
    const problem = /\s/.test(text) ? 'invalid' : findTargetProblem(text, allowPrivate)
    if (problem === undefined || problem === 'address') return text
    return wrong(problem === 'not_https' && isLocal(text) ? DEVELOPMENT : sentences[problem])
  }

/** Reads a pattern that matches at least one declared type. */
const readPattern = ({ collections }: WebhookEventTypes): Read<string> => {
  const patterns = patternsOfTypes(collections.keys())
  return (value, wrong) =>
    patterns.has(value as string) ? (value as string) : wrong('is not a type of event here')
}

const readPatterns = (types: WebhookEventTypes): Read<readonly string[]> => {
  const read = setOf(readPattern(types), MAX_EVENTS)
  return (value, wrong) =>
    Array.isArray(value) && value.length === 0
      ? wrong('must name at least one')
      : read(value, wrong)
}

export interface RegistrationRules {
  readonly types: WebhookEventTypes
  readonly allowPrivate: boolean
  /** Returns the versions that a registration can be pinned to: those not retired. */
  readonly versions: () => readonly string[]
}

const readVersion =
  (rules: RegistrationRules): Read<string> =>
  (value, wrong) =>
    rules.versions().includes(value as string)
      ? (value as string)
      : wrong(`must be one of ${rules.versions().join(', ')}`)

/** Returns the members of each request body. */
export function membersOf(rules: RegistrationRules) {
  const events = readPatterns(rules.types)
  const { collections } = rules.types
  const type: Read<string> = (value, wrong) =>
    collections.has(value as string) ? (value as string) : wrong('is not a type of event here')
  const url = readUrl(rules.allowPrivate)
  const settings = {
    description: optional(orNull(line(MAX_DESCRIPTION))),
    api_version: optional(orNull(readVersion(rules))),
  }
  return {
    creation: { url: required(url), events: required(events), ...settings },
    patch: { url: optional(url), events: optional(events), active: optional(bool), ...settings },
    test: { event_type: required(type) },
    rotation: {
      overlap_seconds: overlapSeconds,
      force: optional(bool),
    },
    types: events,
  }
}

/** The columns of lists and single reads; secrets are in another table. */
export const registrationList: Collection = {
  name: 'webhooks',
  table: 'gh_webhooks',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'url', type: 'text' },
    { name: 'events', type: 'json' },
    { name: 'scopes', type: 'json', nullable: true },
    { name: 'description', type: 'text', nullable: true },
    { name: 'active', type: 'bool' },
    { name: 'disabled_reason', type: 'text', nullable: true },
    { name: 'api_version', type: 'text' },
    { name: 'created_at', type: 'time' },
    { name: 'updated_at', type: 'time' },
  ],
  integerId: false,
  scoped: true,
  hasStoredTotal: false,
  filter: ['id', 'url', 'active', 'api_version', 'created_at'],
  sort: ['id', 'url', 'created_at', 'updated_at'],
  where: 'deleted_at IS NULL',
}

export const registrationView: View = cellView(
  registrationList.columns,
  (row) => `{"self":${JSON.stringify(`/webhooks/${row[0]}`)}}`,
)

/** Returns the JSON text of one registration, as in lists. */
export const registrationItem = (row: Registration): string =>
  registrationView.item(
    registrationList.columns.map(({ name }) => row[name as keyof Registration] as Value),
    {},
  )

export const eventsOf = ({ events }: Registration): readonly string[] =>
  JSON.parse(events) as string[]

export const scopesOf = ({ scopes }: Registration): readonly string[] =>
  JSON.parse(scopes ?? '[]') as string[]
