/** The operations of `/admin/events` (§13). */
import { customerMembers, SELECTION } from '../../identity/access/across-customers.ts'
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { anyDeliveryMembers, attemptMembers } from './delivery-log.ts'
import { NEXT_REASONS } from './next-attempt.ts'

import { TIME_RANGE } from './time-range.ts'

const totals = {
  total: b.int(0),
  delivered: b.int(0).describe('Accepted deliveries.').example(2),
  pending: b.int(0).describe('Deliveries that wait.').example(0),
  failed: b.int(0).describe('Failed and exhausted deliveries.').example(0),
  paused: b.int(0).describe('Deliveries of inactive registrations.').example(0),
}

const eventMembers = {
  id: b.text().example('evt_01jdq8w9vgk7'),
  type: b.text().example('key.created'),
  created: b.int(0).describe('Unix seconds.').example(1_780_306_200),
  livemode: b.bool(),
}
const data = b.object({ object: b.anyObject() })

const factMembers = {
  ...customerMembers,
  object: b.text().nullable().describe('The collection and id of the object.').example('things/7'),
  request_id: b.text().nullable().describe('The request that caused the event.'),
}

export const allEventOperations = {
  list: operation('GET /admin/events', {
    id: 'list_all_events',
    summary: 'List the events of all customers with totals of their deliveries',
    tag: 'events',
    query: {
      ...SELECTION,
      type: b.line(1000).optional().describe('Types and patterns, separated by commas.'),
      object: b.line(100).optional().describe('A collection and an id: `things/7`.'),
      delivery_state: b.oneOf(['delivered', 'pending', 'failed', 'paused']).optional(),
      request_id: b.line(128).optional(),
      ...TIME_RANGE,
    },
    output: b.page(
      b
        .object({
          ...eventMembers,
          data,
          ...factMembers,
          deliveries: b.object(totals).describe('Totals of the deliveries.'),
        })
        .named('ListedEvent')
        .columns({
          created: { title: 'time', as: 'seconds' },
          type: { as: 'code', isWide: true },
          customer_name: { title: 'customer' },
          object: { as: 'code' },
          'deliveries.total': { title: 'deliveries' },
          state: {
            states: [
              ['deliveries.total', { 0: ['idle', 'no endpoint'] }],
              ['deliveries.failed', { '*': ['bad', '{deliveries.failed} failed'] }],
              ['deliveries.paused', { '*': ['hold', '{deliveries.paused} paused'] }],
              ['deliveries.pending', { '*': ['warn', '{deliveries.pending} not delivered'] }],
              ['deliveries.total', { '*': ['ok', 'delivered'] }],
            ],
          },
        }),
    ),
  }),
  read: operation('GET /admin/events/:id', {
    id: 'read_any_event',
    summary: 'Read an event of any customer, with its deliveries if they are expanded',
    tag: 'events',
    query: { expand: b.oneOf(['deliveries']).optional() },
    output: b
      .object({
        ...eventMembers,
        data: data.nullable().describe('Null 30 days after the event.'),
        ...factMembers,
        deliveries: b
          .object({
            ...totals,
            data: b
              .list(
                b.object({
                  ...anyDeliveryMembers,
                  attempts: b.list(b.object(attemptMembers)),
                  url: b.text({ format: 'uri' }).nullable(),
                  api_version: b.text().example('v2'),
                  next_reason: b
                    .oneOf(NEXT_REASONS)
                    .nullable()
                    .describe('Why the next attempt is when it is.'),
                }),
              )
              .optional()
              .describe(
                'If the attempts of all have more than 512 KiB, further deliveries have the ' +
                  'newest ten, without the responses; a single delivery has them.',
              ),
            named_by: b
              .list(
                b.object({
                  webhook_id: b.text().example('wh_01jdq8w9vgk7'),
                  url: b.text({ format: 'uri' }),
                  lacks: b
                    .text()
                    .nullable()
                    .describe(
                      'The read scope of the type, if the registration lacks it and does not ' +
                        'receive the type.',
                    )
                    .example(null),
                }),
              )
              .optional()
              .describe('The present registrations that name the type.'),
          })
          .describe('Totals of the deliveries; if expanded, each delivery and registration.'),
      })
      .named('RecordedEvent'),
  }),
  payload: operation('GET /admin/events/:id/payload', {
    id: 'read_event_payload',
    summary: 'Read the body of an event in a version',
    tag: 'events',
    query: { version: b.line(20).optional().describe('Default: the newest shape.') },
    output: b.object({ ...eventMembers, data }).named('EventBody'),
  }),
} as const
