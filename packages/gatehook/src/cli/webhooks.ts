/** `gatehook webhooks …`: registrations and their deliveries (§9). */
import { matchesAny } from '../history/events/event-pattern.ts'
import { wallClock } from '../kernel/clock.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import { delivery } from '../outbound/webhooks/delivery-log.ts'
import { webhookItem } from '../outbound/webhooks/registration.ts'
import { type Api, ApiError, customerCommands } from './api.ts'
import { overlapOf, overlapOption, parseDuration, words } from './arguments.ts'
import type { CommandDescription, CommandFamily } from './command.ts'
import { UsageError } from './errors.ts'
import type { JsonBody } from './http-client.ts'
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

/** Reads `--since`: an instant, or a span back from now. */
function sinceOf(text: unknown): string {
  if (text === undefined) throw new UsageError('Say since when: --since 2h, or an instant.')
  const spanS = parseDuration(String(text))
  if (spanS !== undefined) return isoTime(wallClock.now() - spanS * 1000)
  if (parseTime(String(text)) !== undefined) return String(text)
  throw new UsageError(`--since is "${text}"; expected a span such as 2h, or an instant.`)
}

const { list, action } = customerCommands('webhookAllowPrivate')

const OWN_ENVIRONMENT =
  'This command sends the request itself and reads its own environment, not that of the running ' +
  'node. Set GATEHOOK_WEBHOOK_ALLOW_PRIVATE=1 here too, or call the node: --url URL with its ' +
  'key in GATEHOOK_API_KEY.'

/** Whether a response says that an address is not allowed, in the words of its operation. */
const isNotAllowed = (body: JsonBody): boolean =>
  body?.error === 'url_not_allowed' ||
  /^blocked\b/.test(body?.error ?? '') ||
  JSON.stringify(body?.errors ?? []).includes('GATEHOOK_WEBHOOK_ALLOW_PRIVATE')

/** Sends a request after which the API calls a receiver; explains an address not allowed. */
async function callReceiver(api: Api, method: string, path: string, body: unknown) {
  try {
    return await api.request(method, path, body)
  } catch (error) {
    if (!(error instanceof ApiError && api.refusesPrivate && isNotAllowed(error.response.body))) {
      throw error
    }
    throw new ApiError([...error.sentences, OWN_ENVIRONMENT], error.exit, error.response)
  }
}

/** A command that resends events since an instant. */
const resendSince = (
  operation: 'recover' | 'replay',
  { options = [], ...description }: Omit<CommandDescription, 'name'>,
) =>
  action({
    ...description,
    name: `${operation} <ID>`,
    options: [['--since <WHEN>', 'a span back from now (2h), or an instant'], ...options],
    parse: ({ options: { since, events } }) => ({
      since: sinceOf(since),
      ...(events !== undefined && { event_types: words(events) }),
    }),
    async act(api, { args: [id] }, body) {
      const { count } = await api.request('POST', pathOf(id, `/${operation}`), body)
      return { count }
    },
    describe: ({ count }) => `${bold(String(count))} deliveries are queued.`,
  })

const createExample = 'gatehook webhooks create https://example.com/hook --events "*"'

export const webhooks: CommandFamily = {
  name: 'webhooks',
  summary: 'webhook registrations and their deliveries',
  commands: [
    list({
      name: 'list',
      summary: 'all registrations',
      examples: [['gatehook webhooks list --mode live', 'of live data']],
      rows: (api) => api.list('/webhooks', MAX_REGISTRATIONS),
      empty: `No registrations. Create one: ${createExample}`,
      columns: webhookItem,
    }),
    action({
      name: 'create <URL>',
      summary: 'a new registration; its secret is displayed once',
      options: [
        ['--events <TYPES...>', 'types, patterns or "*", separated by commas'],
        ['--description <TEXT>', 'its purpose'],
        ['--pin <VERSION>', 'the API version of its events (default: the newest)'],
      ],
      examples: [[createExample, 'all events']],
      parse({ args: [url], options: { events, description, pin } }) {
        if (events === undefined) throw new UsageError('Name its events: --events "*", or types.')
        return { url, events: words(events), description, api_version: pin }
      },
      act: (api, _input, body) => callReceiver(api, 'POST', '/webhooks', body),
      describe: (row) => secretText('Created', row),
    }),
    action({
      name: 'delete <ID>',
      summary: 'deletes a registration; its pending deliveries fail',
      examples: [['gatehook webhooks delete wh_…', 'its log remains for 30 days']],
      async act(api, { args: [id] }) {
        await api.request('DELETE', pathOf(id))
        return { id, deleted: true }
      },
      describe: ({ id }) => `Deleted ${bold(String(id))}.`,
    }),
    action({
      name: 'activate <ID>',
      summary: 'enables a disabled registration',
      examples: [['gatehook webhooks activate wh_…', 'verifies the receiver first']],
      act: (api, { args: [id] }) => callReceiver(api, 'PATCH', pathOf(id), { active: true }),
      describe: (row) => `${bold(row.id)} is active; held deliveries are sent.`,
    }),
    action({
      name: 'test <ID>',
      summary: 'one attempt with a sample event, now',
      options: [['--type <TYPE>', 'the type of the event (default: a subscribed one)']],
      examples: [['gatehook webhooks test wh_…', 'exit 1 if it is not delivered']],
      async act(api, { args: [id], options: { type } }) {
        const event_type = type ?? (await sampleType(api, id))
        return api.request('POST', pathOf(id, '/test'), { event_type })
      },
      describe(result, _input, api) {
        const { delivered, response_status: status, duration_ms: ms, error } = result
        if (delivered) return `${green('delivered')}: ${status} in ${ms} ms`
        const reason = error ?? `the receiver responded with ${status}`
        const advice = api.refusesPrivate && isNotAllowed(result) ? `\n${OWN_ENVIRONMENT}` : ''
        return `${alarm('not delivered')}: ${reason} after ${ms} ms${advice}`
      },
      exit: ({ delivered }) => (delivered ? 0 : 1),
    }),
    action({
      name: 'rotate <ID>',
      summary: 'a new secret, displayed once; both sign until the overlap ends',
      options: [overlapOption, ['--force', 'drop the oldest of two valid previous secrets']],
      examples: [['gatehook webhooks rotate wh_… --overlap 1h', 'both sign for an hour']],
      parse: (input) => ({ overlap_seconds: overlapOf(input), force: input.options.force }),
      act: (api, { args: [id] }, body) => api.request('POST', pathOf(id, '/rotate-secret'), body),
      describe: (row) => secretText('Rotated the secret of', row),
    }),
    list({
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
    action({
      name: 'resend <DELIVERY>',
      summary: 'resends one delivery',
      examples: [['gatehook webhooks resend dlv_…', 'in any state']],
      act: (api, { args: [id] }) =>
        api.request('POST', `/deliveries/${encodeURIComponent(String(id))}/resend`),
      describe: (row) => `${bold(row.id)} is queued.`,
    }),
    resendSince('recover', {
      summary: 'resends deliveries that failed since an instant',
      examples: [['gatehook webhooks recover wh_… --since 2h', 'after an outage']],
    }),
    resendSince('replay', {
      summary: 'resends all events since an instant',
      options: [['--events <TYPES...>', 'only these types']],
      examples: [['gatehook webhooks replay wh_… --since 2026-11-01', 'rebuild a copy']],
    }),
  ],
}
