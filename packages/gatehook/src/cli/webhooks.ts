/** `gatehook webhooks …`: registrations and their deliveries (§9). */
import { matchesAny } from '../history/events/event-pattern.ts'
import { delivery } from '../outbound/webhooks/delivery-log.ts'
import { webhookOperations } from '../outbound/webhooks/operations.ts'
import { webhookItem } from '../outbound/webhooks/registration.ts'
import { type Api, ApiError, customerCommands } from './api.ts'
import { PAST } from './body-options.ts'
import type { CommandDescription, CommandFamily } from './command.ts'
import type { JsonBody } from './http-client.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
import { alarm, bold, green, yellow } from './output.ts'
import { triggerable } from './sample-event.ts'

const MAX_REGISTRATIONS = 1000
const MAX_DELIVERIES = 50

const pathOf = (id: unknown, suffix = '') => `/webhooks/${encodeURIComponent(String(id))}${suffix}`

const secretText = (verb: string, { id, url, secret, _warnings: warnings = [] }: JsonBody) =>
  `${verb} ${bold(id)} (${url}). The secret, displayed only once:\n\n  ${bold(secret)}\n` +
  warnings.map(({ message }: JsonBody) => `\n${yellow(message)}\n`).join('')

/** Returns the first triggerable type that the registration subscribes to. */
async function sampleType(api: Api, id: unknown): Promise<string | undefined> {
  const { events } = await api.request('GET', pathOf(id))
  return triggerable(api.service).find((type) => matchesAny(events, type))
}

const commands = customerCommands('webhookAllowPrivate')

const OWN_ENVIRONMENT =
  'This command sends the request itself and reads its own environment, not that of the running ' +
  'node. Set GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1 here too, or call the node: --url URL with its ' +
  'key in GATEHOOK_API_KEY.'

/** Whether a response says that an address is not allowed, in the words of its operation. */
const isNotAllowed = (body: JsonBody): boolean =>
  body?.error === 'url_not_allowed' ||
  /^blocked\b/.test(body?.error ?? '') ||
  JSON.stringify(body?.errors ?? []).includes('GATEHOOK_WEBHOOK_ALLOW_PRIVATE')

/** Adds advice where the API may not call a receiver. */
const explainTarget = (error: ApiError, api: Api): ApiError =>
  api.refusesPrivate && isNotAllowed(error.response.body)
    ? new ApiError([...error.sentences, OWN_ENVIRONMENT], error.exit, error.response)
    : error

const operations = webhookOperations({
  eventTypes: [],
  allowPrivate: true,
  versions: () => ANY_SERVICE.versions,
})

const since = { meaning: 'a span back from now (2h), or an instant', form: PAST }
const api_version = { option: 'pin', meaning: 'the API version of its events (default: newest)' }

/** A command that resends events since an instant. */
const resendSince = (
  operation: 'recover' | 'replay',
  description: Omit<CommandDescription, 'name'>,
) =>
  operationCommand<{ count: number }>(commands, {
    ...description,
    name: `${operation} <ID>`,
    operation: operations[operation],
    words: { since, event_types: { option: 'events', meaning: 'only these types' } },
    describe: ({ count }) => `${bold(String(count))} deliveries are queued.`,
  })

const createExample = 'gatehook webhooks create https://example.com/hook --events "*"'

export const webhooks: CommandFamily = {
  name: 'webhooks',
  summary: 'webhook registrations and their deliveries',
  commands: [
    commands.list({
      name: 'list',
      summary: 'the registrations of a customer and mode',
      examples: [['gatehook webhooks list --mode live', 'of live data']],
      rows: (api) => api.list('/webhooks', MAX_REGISTRATIONS),
      empty: (_, { place }) => `No registrations in ${place}. Create one: ${createExample}`,
      columns: webhookItem,
    }),
    operationCommand(commands, {
      name: 'create <URL>',
      summary: 'a new registration; its secret is displayed once',
      operation: operations.create,
      args: ['url'],
      words: { events: { meaning: 'types, patterns or "*", separated by commas' }, api_version },
      examples: [[createExample, 'all events']],
      explain: explainTarget,
      describe: (row) => secretText('Created', row),
    }),
    operationCommand(commands, {
      name: 'update <ID>',
      summary: 'changes its URL, events, description or version',
      operation: operations.update,
      words: { url: { option: 'receiver' }, api_version, active: false },
      examples: [['gatehook webhooks update wh_… --events "*"', 'all events']],
      explain: explainTarget,
      describe: ({ id, url }) => `Updated ${bold(id)} (${url}).`,
    }),
    operationCommand(commands, {
      name: 'delete <ID>',
      summary: 'deletes a registration; its pending deliveries fail',
      operation: operations.remove,
      examples: [['gatehook webhooks delete wh_…', 'its log remains for 30 days']],
      resultOf: (_, id) => ({ id, deleted: true }),
      describe: ({ id }) => `Deleted ${bold(id)}.`,
    }),
    operationCommand(commands, {
      name: 'activate <ID>',
      summary: 'enables a disabled registration',
      operation: operations.update,
      body: { active: true },
      examples: [['gatehook webhooks activate wh_…', 'verifies the receiver first']],
      explain: explainTarget,
      describe: (row) => `${bold(row.id)} is active; held deliveries are sent.`,
    }),
    operationCommand(commands, {
      name: 'test <ID>',
      summary: 'one attempt with a sample event, now',
      operation: operations.test,
      words: {
        event_type: {
          option: 'type',
          meaning: 'the type of the event (default: a subscribed one)',
          isOptional: true,
        },
        api_version: { option: 'pin' },
      },
      examples: [['gatehook webhooks test wh_…', 'exit 1 if it is not delivered']],
      complete: async (body, api, { args: [id] }) => ({
        ...body,
        event_type: body.event_type ?? (await sampleType(api, id)),
      }),
      describe(result, _input, api) {
        const { delivered, response_status: status, duration_ms: ms, error } = result
        if (delivered) return `${green('delivered')}: ${status} in ${ms} ms`
        const reason = error ?? `the receiver responded with ${status}`
        const advice = api.refusesPrivate && isNotAllowed(result) ? `\n${OWN_ENVIRONMENT}` : ''
        return `${alarm('not delivered')}: ${reason} after ${ms} ms${advice}`
      },
      exit: ({ delivered }) => (delivered ? 0 : 1),
    }),
    operationCommand(commands, {
      name: 'rotate <ID>',
      summary: 'a new secret, displayed once; both sign until the overlap ends',
      operation: operations.rotateSecret,
      words: { force: { meaning: 'drop the oldest of two valid previous secrets' } },
      examples: [['gatehook webhooks rotate wh_… --overlap 1h', 'both sign for an hour']],
      describe: (row) => secretText('Rotated the secret of', row),
    }),
    commands.list({
      name: 'deliveries <ID>',
      summary: 'the deliveries of a registration, newest first',
      options: [['--state <STATE>', 'pending, delivered, failed, exhausted, paused']],
      examples: [['gatehook webhooks deliveries wh_… --state failed', 'only failed ones']],
      rows(api, { args: [id], options: { state } }) {
        const path = pathOf(id, `/deliveries?sort=-id${state ? `&state=${state}` : ''}`)
        return api.list(path, MAX_DELIVERIES)
      },
      empty: 'No deliveries.',
      columns: delivery,
    }),
    operationCommand(commands, {
      name: 'resend <DELIVERY>',
      summary: 'resends one delivery',
      operation: operations.resend,
      examples: [['gatehook webhooks resend dlv_…', 'in any state']],
      describe: (row) => `${bold(row.id)} is queued.`,
    }),
    resendSince('recover', {
      summary: 'resends deliveries that failed since an instant',
      examples: [['gatehook webhooks recover wh_… --since 2h', 'after an outage']],
    }),
    resendSince('replay', {
      summary: 'resends all events since an instant',
      examples: [['gatehook webhooks replay wh_… --since 2026-11-01', 'rebuild a copy']],
    }),
  ],
}
