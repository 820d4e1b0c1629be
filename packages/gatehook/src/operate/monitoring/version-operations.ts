/** The operations on the callers of a version, and on its usual traffic. */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

export const CALLERS_MAX = 100
/** The newest counts of a version that are examined. */
export const COUNTS_MAX = 10_000
const DAYS_MAX = 90
const HOURS_OF_WEEK = 7 * 24

const customer = b
  .text()
  .nullable()
  .describe('Null for unauthenticated callers.')
  .example('cus_01jdq8w9vgk7')
const customerName = b.text().nullable().describe('The name of the customer.').example('Acme GmbH')

export const versionCaller = b
  .object({
    customer,
    customer_name: customerName,
    contact: b
      .text()
      .nullable()
      .describe('The e-mail address of the customer for questions of the API.')
      .example('api@acme.example'),
    mode: b.oneOf(['live', 'test']).nullable(),
    kind: b
      .openSet(['key', 'client', 'workload', 'person', 'anonymous', 'webhook'])
      .describe('The kind of the caller; `webhook`: an endpoint pinned to the version.')
      .example('key'),
    id: b.text().nullable().describe('The id of a key, client or endpoint.').example('key_01jdq8'),
    name: b.text().nullable().describe('The name, or the URL of an endpoint.').example('Till'),
    routes: b
      .list(
        b.object({
          method: b.text().example('GET'),
          route: b.text().describe('The template of the path.').example('/things/{id}'),
          count: b.int(0).describe('All requests of the route.').example(120),
        }),
      )
      .describe('The 20 routes of most requests, of those that were used in the period.'),
    count: b.int(0).describe('All requests of routes that were used in the period.').example(120),
    daily: b
      .list(b.int(0))
      .describe('Requests by day in UTC, the oldest first; the last day is today.')
      .example([14, 9, 11]),
    last_at: b.time().nullable().describe('The last request, or delivery to an endpoint.'),
    outlook: b
      .object({
        kind: b
          .openSet(['falling', 'flat', 'rising', 'pinned'])
          .describe(
            'The later half of the complete days beside the earlier half: by a quarter fewer or ' +
              'more requests a day, or `flat`; `pinned`: it never ends by itself.',
          )
          .example('falling'),
      })
      .describe('The trend of the caller.'),
  })
  .named('VersionCaller')
  .columns({
    customer_name: { title: 'customer' },
    name: { title: 'caller' },
    count: { title: 'requests' },
    'outlook.kind': { title: 'trend' },
    last_at: { title: 'last request', as: 'time' },
    contact: {},
  })

export type VersionCallerRow = JsonOf<typeof versionCaller>

export const versionTrafficOperations = {
  callers: operation('GET /admin/versions/:version/callers', {
    id: 'list_version_callers',
    summary: 'List the callers of a version with their trend',
    description:
      'Credentials by their requests, then endpoints that are pinned to it. The newest ' +
      `${COUNTS_MAX} counts of routes and credentials are examined. ` +
      'Without a request log, `daily` is zero and the outlook is `flat`.',
    query: {
      days: b.int(1, DAYS_MAX).optional().describe('Default 30.').example(30),
      customer: b.line(200).optional().describe('The id of a customer.'),
      mode: b
        .oneOf(['live', 'test'])
        .optional()
        .describe('Callers of one mode, and those without a credential.'),
      limit: b
        .int(1, CALLERS_MAX)
        .optional()
        .describe(`The callers of a page. Default ${CALLERS_MAX}.`)
        .example(CALLERS_MAX),
      cursor: b.text().optional().describe('The `next_cursor` of the previous page.'),
    },
    output: b
      .object({
        days: b.int(1).describe('The days of the period.').example(30),
        data: b.list(versionCaller),
        next_cursor: b.text().nullable().describe('Null on the last page.').example(null),
        has_more: b.bool().describe('Whether there are more callers.').example(false),
      })
      .named('VersionCallers'),
  }),
  traffic: operation('GET /admin/versions/:version/traffic', {
    id: 'read_version_traffic',
    summary: 'Read the requests that are usual in hours of the week',
    description: 'For the choice of a brownout. It is the mean of up to two weeks.',
    query: {
      weekday: b.int(1, 7).describe('The day of the week in UTC, 1: Monday.').example(2),
      hour: b.int(0, 23).describe('The hour of the day in UTC.').example(9),
      hours: b
        .int(1, HOURS_OF_WEEK)
        .optional()
        .describe('The number of hours from there. Default 1.')
        .example(4),
    },
    output: b
      .object({
        weekday: b.int(1, 7).describe('The day of the week in UTC, 1: Monday.').example(2),
        hour: b.int(0, 23).describe('The hour of the day in UTC.').example(9),
        hours: b.int(1, HOURS_OF_WEEK).describe('The number of hours from there.').example(4),
        weeks: b.int(0).describe('The weeks that the mean is of.').example(2),
        expected: b.number().describe('Requests in these hours.').example(42.5),
        customers: b
          .list(
            b.object({
              customer,
              customer_name: customerName,
              expected: b.number().describe('Requests in these hours.').example(40),
            }),
          )
          .describe(`The ${CALLERS_MAX} customers of most requests.`),
      })
      .named('VersionTraffic'),
  }),
}
