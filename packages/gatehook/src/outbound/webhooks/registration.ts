/**
 * A webhook registration: its request bodies and its representation (§9.1, §9.2). Pure; the
 * operations are in `registrations.ts`, their SQL in `deliveries/registration-store.ts`.
 */

import type { EventAccess } from '../../history/events/event-access.ts'
import { createTypeNames, nameMember } from '../../history/events/type-names.ts'
import { rotationInput } from '../../identity/access/secret-store.ts'
import type { Value } from '../../platform/storage/database.ts'
import { b, type Member, type Members } from '../../protocol/fields/members.ts'
import { createList, type EngineList } from '../../protocol/lists/definition.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import { webhooks } from '../deliveries/tables.ts'
import { findTargetProblem, type TargetProblem } from '../transport/target.ts'

/** The event types of the service. */
export interface WebhookEventTypes extends EventAccess {
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

/** A URL of a receiver. `verifyReceiver` checks its address, with an error code of its own. */
const receiverUrl = (allowPrivate: boolean): Member<string> =>
  b
    .url(MAX_URL)
    .example('https://shop.example.com/hooks')
    .refine((text, reject) => {
      const problem = findTargetProblem(text, allowPrivate)
      if (problem === undefined || problem === 'address') return text
      return reject(problem === 'not_https' && isLocal(text) ? DEVELOPMENT : sentences[problem])
    })

/** Patterns each of which matches at least one declared type. */
const eventPatterns = (patterns: ReadonlySet<string>): Member<readonly string[]> =>
  b
    .set(nameMember(patterns), { min: 1, max: MAX_EVENTS })
    .describe('Types, families as `thing.*`, or `*`.')
    .example(['*'])

export interface RegistrationRules {
  /** The declared types of events. */
  readonly eventTypes: readonly string[]
  readonly allowPrivate: boolean
  /** Returns the versions that a registration can be pinned to: those not retired. */
  readonly versions: () => readonly string[]
}

/** Returns the members of each request body. */
export function registrationInputs({ eventTypes, allowPrivate, versions }: RegistrationRules) {
  const names = createTypeNames(eventTypes)
  const events = eventPatterns(names.patterns)
  const url = receiverUrl(allowPrivate)
  const version = b
    .text()
    .describe('The version of payloads; null: the newest.')
    .refine((text, reject) =>
      versions().includes(text) ? text : reject(`must be one of ${versions().join(', ')}`),
    )
  const settings = {
    description: b.line(MAX_DESCRIPTION).nullable().optional(),
    api_version: version.nullable().optional(),
  }
  return {
    creation: { url, events, ...settings },
    patch: {
      url: url.optional(),
      events: events.optional(),
      active: b.bool().optional(),
      ...settings,
    },
    test: {
      event_type: nameMember(names.types).example(eventTypes[0] ?? 'ping'),
      api_version: version
        .optional()
        .describe('The version of the payload; default: that of the registration.'),
      resume_deliveries: b
        .bool()
        .optional()
        .describe(
          'Whether a success closes the circuit breaker and makes waiting deliveries due; ' +
            'default false: the test does not affect the health of the endpoint.',
        )
        .example(true),
    },
    rotation: { ...rotationInput, force: b.bool().optional() },
    recovery: { since: b.instant() },
    replay: { since: b.instant(), event_types: events.optional() },
  }
}

export type RegistrationInputs = ReturnType<typeof registrationInputs>

const webhookMembers = {
  id: b.text().example('wh_01jdq8w9vgk7'),
  url: b.text({ format: 'uri', max: MAX_URL }).example('https://shop.example.com/hooks'),
  events: b
    .list(b.text(), { min: 1, max: MAX_EVENTS })
    .describe('Types, families as `thing.*`, or `*`.')
    .example(['*']),
  scopes: b
    .list(b.text())
    .nullable()
    .describe('The read scopes of its creator: it receives the events that they cover.')
    .example(['events:read']),
  description: b.text({ max: MAX_DESCRIPTION }).nullable().example(null),
  active: b.bool(),
  disabled_reason: b
    .openSet(['gone', 'failing', 'creator_removed'])
    .nullable()
    .describe('Why the service disabled it.')
    .example(null),
  api_version: b.text().example('v2'),
  created_at: b.time(),
  updated_at: b.time(),
}

/** A registration in lists; secrets are in another table. */
export const webhookItem = b
  .object(webhookMembers)
  .named('WebhookItem')
  .columns({
    url: { isWide: true },
    id: {},
    state: {
      states: [
        ['disabled_reason', { '*': ['bad'] }],
        ['active', { true: ['ok', 'active'], false: ['bad', 'off'] }],
      ],
    },
    api_version: { title: 'version', as: 'code' },
    events: {},
  })

/** Returns the JSON of a registration with further members. */
export const webhookWith = <M extends Members>(members: M) =>
  b.object({ ...webhookMembers, ...members })

export const registrations: EngineList = {
  row: webhookItem,
  path: '/webhooks',
  name: 'webhooks',
  table: webhooks.name,
  scoped: true,
  filter: ['id', 'url', 'active', 'api_version', 'created_at'],
  sort: ['id', 'url', 'created_at', 'updated_at'],
  where: 'deleted_at IS NULL',
}

export const registrationList = createList(registrations)

/** Returns the JSON text of one registration, as in lists. */
export const registrationItem = (row: Registration): string =>
  registrationList.view.item(
    registrationList.collection.columns.map(({ name }) => row[name as keyof Registration] as Value),
    {},
  )

export const eventsOf = ({ events }: Pick<Registration, 'events'>): readonly string[] =>
  JSON.parse(events) as string[]

export const scopesOf = ({ scopes }: Pick<Registration, 'scopes'>): readonly string[] =>
  JSON.parse(scopes) as string[]
