/** `gatehook webhooks …`: registrations and their deliveries, by the calls of the API (§9). */

import { matchesAny } from '../events/subscription.ts'
import { wallClock } from '../kernel/clock.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import type { AnyRow } from '../resources/resource.ts'
import { type Api, listed, apiOptions as options, withApi } from './api.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { UsageError } from './mistake.ts'
import { alarm, bold, dim, green, table, yellow } from './output.ts'
import { triggerable } from './sample-event.ts'

const LIST_MAX = 1000
const SHOWN_DELIVERIES = 50

const at = (id: unknown, more = '') => `/webhooks/${encodeURIComponent(String(id))}${more}`

async function list(input: Input): Promise<undefined> {
  const rows = await withApi(input, (api) => listed(api, '/webhooks', LIST_MAX))
  input.out.result({ data: rows }, () =>
    rows.length === 0
      ? 'No registrations. Make one: gatehook webhooks create https://example.com/hook --events "*"'
      : table(
          ['id', 'state', 'version', 'events', 'url'],
          rows.map((row) => [
            row.id,
            row.active ? green('active') : alarm(row.disabled_reason ?? 'off'),
            row.api_version ?? '',
            row.events.join(' '),
            row.url,
          ]),
        ),
  )
  return
}

const withSecret = (row: AnyRow, what: string) =>
  `${what} ${bold(row.id)} (${row.url}). The secret, shown this once:\n\n  ${bold(row.secret)}\n`

async function create(input: Input): Promise<undefined> {
  const { events, description, pin } = input.options
  if (events === undefined) throw new UsageError('Say what it gets: --events "*", or types.')
  const wish = {
    url: input.args[0],
    events: String(events)
      .split(/[,\s]+/)
      .filter(Boolean),
    ...(description !== undefined && { description }),
    ...(pin !== undefined && { api_version: pin }),
  }
  const row = await withApi(input, (api) => api.call('POST', '/webhooks', wish))
  input.out.result(row, () => withSecret(row, 'Created'))
  return
}

async function remove(input: Input): Promise<undefined> {
  const [id] = input.args
  await withApi(input, (api) => api.call('DELETE', at(id)))
  input.out.result({ id, deleted: true }, () => `Deleted ${bold(String(id))}.`)
  return
}

async function activate(input: Input): Promise<undefined> {
  const row = await withApi(input, (api) => api.call('PATCH', at(input.args[0]), { active: true }))
  input.out.result(row, () => `${bold(row.id)} is active; what waited goes out.`)
  return
}

/** The first type of event that a registration asks for. */
async function typeFor(api: Api, id: unknown): Promise<string | undefined> {
  const { events } = await api.call('GET', at(id))
  return triggerable(api.service).find((type) => matchesAny(events, type))
}

/** Exit 1 where the receiver did not take it. */
async function test(input: Input): Promise<number> {
  const [id] = input.args
  const tried = await withApi(input, async (api) => {
    const event_type = input.options.type ?? (await typeFor(api, id))
    return api.call('POST', at(id, '/test'), { event_type })
  })
  const { delivered, response_status: status, duration_ms: ms, error } = tried
  input.out.result(tried, () =>
    delivered
      ? `${green('delivered')}: ${status} in ${ms} ms`
      : `${alarm('not delivered')}: ${error ?? `the answer was ${status}`} after ${ms} ms`,
  )
  return delivered ? 0 : 1
}

async function rotate(input: Input): Promise<undefined> {
  const { overlap, force } = input.options
  const overlapS = overlap === undefined ? undefined : parseDuration(String(overlap))
  if (overlap !== undefined && overlapS === undefined) {
    throw new UsageError(`--overlap is "${overlap}"; expected a span such as 24h, 30m or 0s.`)
  }
  const wish = {
    ...(overlapS !== undefined && { overlap_seconds: overlapS }),
    ...(force === true && { force: true }),
  }
  const row = await withApi(input, (api) =>
    api.call('POST', at(input.args[0], '/rotate-secret'), wish),
  )
  input.out.result(row, () => withSecret(row, 'Rotated the secret of'))
  return
}

const stateOf = (state: string) =>
  state === 'delivered' ? green(state) : state === 'pending' ? state : yellow(state)

const lastOf = ({ attempts }: AnyRow): string => {
  const last = attempts.at(-1)
  return last ? String(last.status ?? last.error ?? '') : ''
}

async function deliveries(input: Input): Promise<undefined> {
  const { state } = input.options
  const path = at(input.args[0], `/deliveries?sort=-id${state ? `&state=${state}` : ''}`)
  const rows = await withApi(input, (api) => listed(api, path, SHOWN_DELIVERIES))
  input.out.result({ data: rows }, () =>
    rows.length === 0
      ? 'No deliveries.'
      : table(
          ['id', 'state', 'event', 'attempts', 'last', 'next', 'created'],
          rows.map((row) => [
            row.id,
            stateOf(row.state),
            row.event_type,
            String(row.attempts.length),
            lastOf(row),
            row.next_attempt_at ?? dim('-'),
            row.created_at,
          ]),
        ),
  )
  return
}

async function resend(input: Input): Promise<undefined> {
  const path = `/deliveries/${encodeURIComponent(String(input.args[0]))}/resend`
  const row = await withApi(input, (api) => api.call('POST', path))
  input.out.result(row, () => `${bold(row.id)} goes out again.`)
  return
}

/** An instant as it is, a span counted back from now. */
function since(input: Input): string {
  const text = input.options.since
  if (text === undefined) throw new UsageError('Say since when: --since 2h, or an instant.')
  const spanS = parseDuration(String(text))
  if (spanS !== undefined) return isoTime(wallClock.now() - spanS * 1000)
  if (parseTime(String(text)) !== undefined) return String(text)
  throw new UsageError(`--since is "${text}"; expected a span such as 2h, or an instant.`)
}

const again =
  (what: 'recover' | 'replay') =>
  async (input: Input): Promise<undefined> => {
    const { events } = input.options
    const types =
      events === undefined
        ? undefined
        : String(events)
            .split(/[,\s]+/)
            .filter(Boolean)
    const wish = { since: since(input), ...(types && { event_types: types }) }
    const { count } = await withApi(input, (api) =>
      api.call('POST', at(input.args[0], `/${what}`), wish),
    )
    input.out.result({ count }, () => `${bold(String(count))} deliveries go out.`)
    return
  }

const config: CommandSpec['config'] = ['databaseUrl', 'host', 'port', 'webhookAllowPrivate']
const sinceOption = ['--since <WHEN>', 'a span back from now (2h), or an instant'] as const

export const webhooks: FamilySpec = {
  name: 'webhooks',
  summary: 'webhook registrations and their deliveries',
  commands: [
    {
      name: 'list',
      summary: 'all registrations',
      options,
      config,
      examples: [['gatehook webhooks list --mode live', 'of live data']],
      run: list,
    },
    {
      name: 'create <URL>',
      summary: 'a new registration; its secret is shown once',
      options: [
        ...options,
        ['--events <TYPES>', 'types, patterns or "*", separated by commas'],
        ['--description <TEXT>', 'what it is for'],
        ['--pin <VERSION>', 'the API version its events are in (default: the newest)'],
      ],
      config,
      examples: [['gatehook webhooks create https://example.com/hook --events "*"', 'everything']],
      run: create,
    },
    {
      name: 'delete <ID>',
      summary: 'ends a registration; what waits for it fails',
      options,
      config,
      examples: [['gatehook webhooks delete wh_…', 'its log stays for 30 days']],
      run: remove,
    },
    {
      name: 'activate <ID>',
      summary: 'switches one on again that was switched off',
      options,
      config,
      examples: [['gatehook webhooks activate wh_…', 'the receiver is verified first']],
      run: activate,
    },
    {
      name: 'test <ID>',
      summary: 'one attempt of a sample event, now',
      options: [...options, ['--type <TYPE>', 'which event (default: one it asks for)']],
      config,
      examples: [['gatehook webhooks test wh_…', 'exit 1 where it is not delivered']],
      run: test,
    },
    {
      name: 'rotate <ID>',
      summary: 'a new secret, shown once; both sign until the overlap ends',
      options: [
        ...options,
        ['--overlap <SPAN>', 'how long the old one stays good (default 24h)'],
        ['--force', 'drop the oldest where two old ones are still good'],
      ],
      config,
      examples: [['gatehook webhooks rotate wh_… --overlap 1h', 'swap it in within the hour']],
      run: rotate,
    },
    {
      name: 'deliveries <ID>',
      summary: 'what was sent and what waits, the newest first',
      options: [...options, ['--state <STATE>', 'pending, delivered, failed, exhausted, paused']],
      config,
      examples: [['gatehook webhooks deliveries wh_… --state failed', 'what went wrong']],
      run: deliveries,
    },
    {
      name: 'resend <DELIVERY>',
      summary: 'one delivery again',
      options,
      config,
      examples: [['gatehook webhooks resend dlv_…', 'whatever became of it']],
      run: resend,
    },
    {
      name: 'recover <ID>',
      summary: 'all that failed since then, again',
      options: [...options, sinceOption],
      config,
      examples: [['gatehook webhooks recover wh_… --since 2h', 'after an outage']],
      run: again('recover'),
    },
    {
      name: 'replay <ID>',
      summary: 'all that happened since then, again',
      options: [...options, sinceOption, ['--events <TYPES>', 'only these types']],
      config,
      examples: [['gatehook webhooks replay wh_… --since 2026-11-01', 'rebuild a copy']],
      run: again('replay'),
    },
  ],
}
