/** `gatehook webhooks …`: registrations and their deliveries, by the calls of the API (§9). */

import { matchesAny } from '../events/event-pattern.ts'
import { wallClock } from '../kernel/clock.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import type { AnyRow } from '../resources/resource.ts'
import { type Api, apiCommands, listed } from './api.ts'
import type { About, FamilySpec } from './command.ts'
import { parseDuration } from './duration.ts'
import { UsageError } from './mistake.ts'
import { alarm, bold, dim, green, yellow } from './output.ts'
import { triggerable } from './sample-event.ts'
import { overlapOf, overlapOption, words } from './typed.ts'

const LIST_MAX = 1000
const SHOWN_DELIVERIES = 50

const at = (id: unknown, more = '') => `/webhooks/${encodeURIComponent(String(id))}${more}`

const withSecret = (row: AnyRow, what: string) =>
  `${what} ${bold(row.id)} (${row.url}). The secret, shown this once:\n\n  ${bold(row.secret)}\n`

/** The first type of event that a registration asks for. */
async function typeFor(to: Api, id: unknown): Promise<string | undefined> {
  const { events } = await to.call('GET', at(id))
  return triggerable(to.service).find((type) => matchesAny(events, type))
}

const stateOf = (state: string) =>
  state === 'delivered' ? green(state) : state === 'pending' ? state : yellow(state)

const lastOf = ({ attempts }: AnyRow): string => {
  const last = attempts.at(-1)
  return last ? String(last.status ?? last.error ?? '') : ''
}

/** An instant as it is, a span counted back from now. */
function sinceOf(text: unknown): string {
  if (text === undefined) throw new UsageError('Say since when: --since 2h, or an instant.')
  const spanS = parseDuration(String(text))
  if (spanS !== undefined) return isoTime(wallClock.now() - spanS * 1000)
  if (parseTime(String(text)) !== undefined) return String(text)
  throw new UsageError(`--since is "${text}"; expected a span such as 2h, or an instant.`)
}

const api = apiCommands('webhookAllowPrivate')

/** A command that sends a registration once more what there was since an instant. */
const again = (what: 'recover' | 'replay', { options = [], ...about }: Omit<About, 'name'>) =>
  api.act({
    ...about,
    name: `${what} <ID>`,
    options: [['--since <WHEN>', 'a span back from now (2h), or an instant'], ...options],
    act({ args: [id], options: { since, events } }) {
      const wish = {
        since: sinceOf(since),
        ...(events !== undefined && { event_types: words(events) }),
      }
      return async (to) => {
        const { count } = await to.call('POST', at(id, `/${what}`), wish)
        return { count }
      }
    },
    said: ({ count }) => `${bold(String(count))} deliveries go out.`,
  })

const making = 'gatehook webhooks create https://example.com/hook --events "*"'

export const webhooks: FamilySpec = {
  name: 'webhooks',
  summary: 'webhook registrations and their deliveries',
  commands: [
    api.list({
      name: 'list',
      summary: 'all registrations',
      examples: [['gatehook webhooks list --mode live', 'of live data']],
      rows: () => (to) => listed(to, '/webhooks', LIST_MAX),
      none: `No registrations. Make one: ${making}`,
      columns: {
        id: (row) => row.id,
        state: (row) => (row.active ? green('active') : alarm(row.disabled_reason ?? 'off')),
        version: (row) => row.api_version ?? '',
        events: (row) => row.events.join(' '),
        url: (row) => row.url,
      },
    }),
    api.act({
      name: 'create <URL>',
      summary: 'a new registration; its secret is shown once',
      options: [
        ['--events <TYPES>', 'types, patterns or "*", separated by commas'],
        ['--description <TEXT>', 'what it is for'],
        ['--pin <VERSION>', 'the API version its events are in (default: the newest)'],
      ],
      examples: [[making, 'everything']],
      act({ args: [url], options: { events, description, pin } }) {
        if (events === undefined) throw new UsageError('Say what it gets: --events "*", or types.')
        const wish = {
          url,
          events: words(events),
          ...(description !== undefined && { description }),
          ...(pin !== undefined && { api_version: pin }),
        }
        return (to) => to.call('POST', '/webhooks', wish)
      },
      said: (row) => withSecret(row, 'Created'),
    }),
    api.act({
      name: 'delete <ID>',
      summary: 'ends a registration; what waits for it fails',
      examples: [['gatehook webhooks delete wh_…', 'its log stays for 30 days']],
      act:
        ({ args: [id] }) =>
        async (to) => {
          await to.call('DELETE', at(id))
          return { id, deleted: true }
        },
      said: ({ id }) => `Deleted ${bold(String(id))}.`,
    }),
    api.act({
      name: 'activate <ID>',
      summary: 'switches one on again that was switched off',
      examples: [['gatehook webhooks activate wh_…', 'the receiver is verified first']],
      act:
        ({ args: [id] }) =>
        (to) =>
          to.call('PATCH', at(id), { active: true }),
      said: (row) => `${bold(row.id)} is active; what waited goes out.`,
    }),
    api.act({
      name: 'test <ID>',
      summary: 'one attempt of a sample event, now',
      options: [['--type <TYPE>', 'which event (default: one it asks for)']],
      examples: [['gatehook webhooks test wh_…', 'exit 1 where it is not delivered']],
      act:
        ({ args: [id], options: { type } }) =>
        async (to) =>
          to.call('POST', at(id, '/test'), { event_type: type ?? (await typeFor(to, id)) }),
      said: ({ delivered, response_status: status, duration_ms: ms, error }) =>
        delivered
          ? `${green('delivered')}: ${status} in ${ms} ms`
          : `${alarm('not delivered')}: ${error ?? `the answer was ${status}`} after ${ms} ms`,
      exit: ({ delivered }) => (delivered ? 0 : 1),
    }),
    api.act({
      name: 'rotate <ID>',
      summary: 'a new secret, shown once; both sign until the overlap ends',
      options: [overlapOption, ['--force', 'drop the oldest where two old ones are still good']],
      examples: [['gatehook webhooks rotate wh_… --overlap 1h', 'swap it in within the hour']],
      act(input) {
        const overlapS = overlapOf(input)
        const wish = {
          ...(overlapS !== undefined && { overlap_seconds: overlapS }),
          ...(input.options.force === true && { force: true }),
        }
        return (to) => to.call('POST', at(input.args[0], '/rotate-secret'), wish)
      },
      said: (row) => withSecret(row, 'Rotated the secret of'),
    }),
    api.list({
      name: 'deliveries <ID>',
      summary: 'what was sent and what waits, the newest first',
      options: [['--state <STATE>', 'pending, delivered, failed, exhausted, paused']],
      examples: [['gatehook webhooks deliveries wh_… --state failed', 'what went wrong']],
      rows({ args: [id], options: { state } }) {
        const path = at(id, `/deliveries?sort=-id${state ? `&state=${state}` : ''}`)
        return (to) => listed(to, path, SHOWN_DELIVERIES)
      },
      none: 'No deliveries.',
      columns: {
        id: (row) => row.id,
        state: (row) => stateOf(row.state),
        event: (row) => row.event_type,
        attempts: (row) => String(row.attempts.length),
        last: lastOf,
        next: (row) => row.next_attempt_at ?? dim('-'),
        created: (row) => row.created_at,
      },
    }),
    api.act({
      name: 'resend <DELIVERY>',
      summary: 'one delivery again',
      examples: [['gatehook webhooks resend dlv_…', 'whatever became of it']],
      act:
        ({ args: [id] }) =>
        (to) =>
          to.call('POST', `/deliveries/${encodeURIComponent(String(id))}/resend`),
      said: (row) => `${bold(row.id)} goes out again.`,
    }),
    again('recover', {
      summary: 'all that failed since then, again',
      examples: [['gatehook webhooks recover wh_… --since 2h', 'after an outage']],
    }),
    again('replay', {
      summary: 'all that happened since then, again',
      options: [['--events <TYPES>', 'only these types']],
      examples: [['gatehook webhooks replay wh_… --since 2026-11-01', 'rebuild a copy']],
    }),
  ],
}
