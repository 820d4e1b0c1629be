/** The operations on requests, series, errors and live messages of the installation (§13). */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { TOPICS } from './live-hub.ts'
import { validateModes } from './mode-condition.ts'
import { requestQuery } from './request-filters.ts'
import { METRICS } from './series.ts'

const FILTER_CHARACTERS = 256

const filter = b.text({ min: 1, max: FILTER_CHARACTERS }).optional()
const count = b.int(0)

const range = {
  from: b.instant().optional().describe('The start of the period.'),
  to: b.instant().optional().describe('The end of the period; default now.'),
}
/** Modes in requests; `none` selects requests of unidentified callers. */
const modes = b
  .text({ min: 1, max: FILTER_CHARACTERS })
  .refine(validateModes)
  .optional()
  .describe('`live`, `test`, or `none` for unidentified callers; several separated by commas.')
const owner = {
  customer: filter.describe('The id of a customer.'),
  mode: modes,
}

/** A parameter with some of the names, separated by commas. */
const namesOf = <const T extends string>(names: readonly T[]) =>
  b.text({ max: FILTER_CHARACTERS }).refine((text, reject): readonly T[] | undefined => {
    const unique = [...new Set(text.split(','))]
    const isName = (name: string): name is T => (names as readonly string[]).includes(name)
    return unique.every(isName) ? unique : reject(`must be of ${names.join(', ')}`)
  })

const numbers = b.map(b.number().nullable())
const totals = {
  requests: numbers.optional().describe('Requests by class, and those that the log lacks.'),
  latency: numbers.optional().describe('Percentiles of the durations in milliseconds.'),
  deliveries: numbers.optional().describe('Attempts of deliveries by outcome.'),
  versions: numbers.optional().describe('Requests by version.'),
}

const seriesReport = b
  .object({
    from: b.time().describe('The start of the first step.'),
    to: b.time().describe('The end of the last step.'),
    step_s: b.int(1).describe('The length of a step in seconds.').example(15),
    series: b
      .list(
        b.object({
          metric: b.oneOf(METRICS).describe('The metric.'),
          key: b.text().describe('The name of the series.').example('4xx'),
          values: b
            .list(b.number().nullable())
            .describe('A value for each step; null: it has not begun, or has no value.')
            .example([12, 8, null]),
        }),
      )
      .describe('The series of the requested metrics.'),
    totals: b
      .object({
        ...totals,
        previous: b
          .object(totals)
          .nullable()
          .describe('Of the period before, which is as long; null: it is no longer stored.'),
      })
      .describe('The totals of the period by metric.'),
  })
  .named('SeriesReport')

const oldestPage = { next_cursor: b.text().nullable(), has_more: b.bool() }

const errorCause = b
  .object({
    error: b.text().describe('The code of the failure.').example('not_found'),
    status: b.int(100, 599).nullable().describe('Null: the connection ended before.').example(404),
    route: b.text().example('/api/things/:id'),
    version: b.text().nullable().example('v2'),
    count: b.int(1).describe('The number of requests.'),
    customers: count.describe('The number of customers with this error.').example(3),
    last_at: b.time(),
    sample_request_id: b.text().describe('The newest of these requests.').example('req_7Hq2Xc'),
  })
  .named('ErrorCause')
  .columns({
    status: { as: 'status', none: 'cut' },
    error: { as: 'code' },
    route: { as: 'code' },
    version: {},
    count: {},
    customers: {},
    last_at: { as: 'time' },
  })

const severity = b.oneOf(['bad', 'warn', 'info'])

const attentionItem = b
  .object({
    id: b
      .text()
      .describe('`kind.subject`; it lasts as long as the state.')
      .example('key_expiring.key_7Hq2Xc'),
    kind: b.text().example('key_expiring'),
    severity: severity.describe('How urgent it is.'),
    since: b.time().describe('The start of the state.'),
    subject: b
      .object({
        type: b.text().example('key'),
        id: b.text().example('key_7Hq2Xc'),
        label: b.text().describe('The name or URL.').example('Shop'),
      })
      .describe('The object that needs attention.'),
    facts: b.anyObject().describe('Instants and numbers of the kind.').example({ callers: 2 }),
    customer: b.text().nullable(),
    mode: b.text().nullable().example('live'),
  })
  .named('AttentionItem')

export type AttentionItem = JsonOf<typeof attentionItem>

const loggedMembers = {
  id: b.text().describe('The id of the request.').example('req_7Hq2Xc'),
  at: b.time(),
  method: b.text().example('POST'),
  path: b.text(),
  route: b.text().example('/api/things/:id'),
  status: b.int(100, 599).nullable().describe('Null: the connection ended before.').example(403),
  error: b.text().nullable().describe('The code of the failure.').example('insufficient_scope'),
  took_ms: b.number().example(12.5),
  customer: b.text().nullable(),
  mode: b.text().nullable().example('live'),
  credential: b
    .object({
      kind: b.text().example('key'),
      id: b.text().nullable().example('key_7Hq2Xc'),
      name: b.text().nullable().example('Shop'),
      hint: b.text().nullable(),
      subject: b.text().nullable().describe('The person, client or key.').example('key_7Hq2Xc'),
    })
    .nullable(),
  version: b.text().nullable().example('v2'),
  ip: b.text(),
  object: b.text().nullable().describe('The row: `collection/id`.').example('things/7'),
  events: count.describe('The number of events that it recorded.').example(1),
}

export const loggedRequest = b
  .object({ ...loggedMembers, warnings: count.describe('The number of warnings.').example(0) })
  .named('LoggedRequest')
  .columns({
    at: { title: 'time', as: 'time' },
    status: { as: 'status', none: 'cut' },
    path: { title: 'request', as: 'code', isWide: true },
    took_ms: { title: 'took', as: 'duration' },
    customer: { none: 'none' },
    version: { as: 'code' },
    credential: { as: 'who', none: 'none' },
    error: { as: 'code', none: '' },
    id: {},
  })

const loggedRequestDetail = b
  .object({
    ...loggedMembers,
    user_agent: b.text().nullable(),
    trace_id: b
      .text()
      .nullable()
      .describe('The trace of the request (W3C).')
      .example('4bf92f3577b34da6a3ce929d0e0e4736'),
    event_ids: b.list(b.text()),
    warnings: b.list(b.openObject({ type: b.text(), message: b.text() })),
    gates: b
      .list(
        b.object({
          step: b.text().describe('The step of the pipeline.').example('authorize'),
          outcome: b.oneOf(['passed', 'refused', 'not_reached']),
          facts: b.anyObject().describe('The values that the step read.').example({}),
        }),
      )
      .describe('The steps of the request in their order.'),
    key_revocation: b
      .object({
        at: b.time(),
        principal: b
          .object({
            kind: b.text().describe('The kind of the principal.').example('operator'),
            id: b.text().describe('The id of the principal.').example('op_01jdq8w9vgk7'),
            name: b.text().nullable().describe('Its name.').example('ada@example.com'),
          })
          .describe('The principal that revoked the key.'),
      })
      .nullable()
      .describe('When and by whom the key of a rejected request was revoked.'),
    help: b
      .object({
        text: b.text().describe('Sentences for operators.').example('The key lacks the scope.'),
        actions: b
          .list(b.text())
          .describe('Operations of the console that help.')
          .example(['add_scope']),
      })
      .nullable()
      .describe('Advice on the failure; null without one.'),
    headers: b
      .map(b.text())
      .nullable()
      .describe('Null unless the request failed and the log stores bodies.')
      .example({ accept: 'application/json' }),
    body: b.json().describe('The body of the request without its secrets.'),
    body_bytes: count.nullable().describe('The size of the body.').example(120),
    body_truncated: b.bool(),
    answer: b
      .object({
        headers: b.map(b.text()).describe('Its headers.'),
        body: b.json().optional().describe('Its body without secrets.'),
      })
      .nullable()
      .describe('The response, as the log stores it.'),
  })
  .named('LoggedRequestDetail')

export type LoggedRequestJson = JsonOf<typeof loggedRequest>
export type LoggedRequestDetailJson = JsonOf<typeof loggedRequestDetail>

const position = b.text().nullable()

export const monitoringOperations = {
  series: operation('GET /admin/series', {
    id: 'read_series',
    tag: 'monitoring',
    summary: 'Read requests, latency, deliveries and versions over time',
    query: {
      metric: namesOf(METRICS).optional().describe('Metrics, separated by commas; default all.'),
      ...range,
      step: b.int(1, 10_000_000).optional().describe('The length of a step in seconds.'),
      ...owner,
      key: filter.describe('The id of a key or client, for requests, latency and versions.'),
      version: filter.describe('A version, for requests, latency and versions.'),
      webhook: filter.describe('The id of a registration, for deliveries.'),
    },
    output: seriesReport,
  }),
  errors: operation('GET /admin/errors', {
    id: 'list_errors',
    tag: 'monitoring',
    summary: 'List errors by cause, those of most customers first',
    description: 'At most 100 causes of at most 30 days; default: 24 hours.',
    query: { ...range, ...owner },
    output: b
      .object({
        from: b.time().describe('The start of the period.'),
        to: b.time().describe('The end of the period.'),
        data: b.list(errorCause).describe('The causes.'),
        ...oldestPage,
      })
      .named('ErrorReport'),
  }),
  attention: operation('GET /admin/attention', {
    id: 'list_attention_items',
    tag: 'monitoring',
    summary: 'List the states that need the attention of an operator, the most urgent first',
    query: {},
    output: b
      .object({
        data: b.list(attentionItem).describe('The items that the caller has not put off.'),
        delayed: count.describe('The number of items that the caller has put off.').example(0),
        ...oldestPage,
      })
      .named('AttentionItemList'),
  }),
  delayAttention: operation('PUT /admin/attention/:id', {
    id: 'delay_attention_item',
    tag: 'monitoring',
    summary: 'Put an item off until an instant, for at most 30 days',
    params: { id: b.text().describe('The id of the item.').example('key_expiring.key_7Hq2Xc') },
    input: { until: b.instant().describe('When the caller sees the item again.') },
    headers: ['Idempotency-Key'],
    output: b.object({
      id: b.text().describe('The id of the item.').example('key_expiring.key_7Hq2Xc'),
      until: b.time().describe('When the caller sees the item again.'),
    }),
    errors: ['limit_reached'],
  }),
  requests: operation('GET /admin/requests', {
    id: 'list_requests',
    tag: 'monitoring',
    summary: 'List the requests of the log, newest first',
    description: 'A page examines at most 20,000 rows; its cursor continues there.',
    query: requestQuery,
    output: b
      .object({
        data: b.list(loggedRequest).describe('The requests.'),
        cursors: b.object({ next: position, prev: position }),
        ...oldestPage,
        not_logged: b
          .object({
            sampled: count.describe('Successful requests beyond 500 in a second.').example(0),
            dropped: count.describe('Requests that the store could not receive.').example(0),
          })
          .describe('Requests since the start of the node that the log does not contain.'),
      })
      .named('LoggedRequestList'),
    errors: ['not_found', 'invalid_cursor', 'cursor_mismatch'],
  }),
  request: operation('GET /admin/requests/:id', {
    id: 'get_request',
    tag: 'monitoring',
    summary: 'Read a request of the log with the steps of the pipeline that it passed',
    query: {},
    output: loggedRequestDetail,
  }),
  stream: operation('GET /admin/stream', {
    id: 'stream_monitoring',
    tag: 'monitoring',
    summary: 'Stream live messages as server-sent events',
    description:
      'The name of an event is its topic. `dropped` counts messages that a slow reader missed.',
    query: {
      topics: namesOf(TOPICS).optional().describe('Topics, separated by commas; default all.'),
      ...owner,
      webhook: filter.describe('The id of a registration.'),
      route: filter.describe('The template of a path.'),
      key_id: filter.describe('The id of a key.'),
      error: filter.describe('The code of a failure.'),
      status: filter.describe('A status, or a class as `4xx`.'),
      warnings: b.bool().optional().describe('Whether the response of a request has warnings.'),
    },
    headers: ['Last-Event-ID'],
    produces: 'text/event-stream',
    returns: 'One message per event: its topic, its id if it has one, and JSON.',
    errors: ['rate_limited'],
  }),
}
