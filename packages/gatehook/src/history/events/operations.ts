/** The operations on events (§9.11). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { createTypeNames, readNames } from './type-names.ts'

interface EventFacts {
  /** Every type that the service and the engine emit. */
  readonly types: readonly string[]
  /** The types that clients can post. */
  readonly external: readonly string[]
}

/** An event as its customer reads it, of one of the types. */
export const eventObject = (types: readonly string[]) =>
  b
    .object({
      id: b.text().example('evt_01jdq8w9vgk7'),
      type: b.openSet([...types].sort()),
      created: b.int(0).describe('Unix seconds.').example(1_780_306_200),
      livemode: b.bool(),
      data: b.object({ object: b.anyObject() }),
    })
    .named('Event')
    .columns({
      type: { as: 'code' },
      created: { as: 'seconds' },
      'data.object.id': { title: 'object' },
      id: {},
    })

export function eventOperations({ types, external }: EventFacts) {
  const { patterns } = createTypeNames(types)
  const event = eventObject(types)
  const posted = external.length > 0 ? b.oneOf(external) : b.text()
  const mistake =
    external.length > 0
      ? `must be one of ${external.join(', ')}, the types declared as external`
      : 'must be a type that the service declares as external, and it declares none'
  return {
    list: operation('GET /events', {
      id: 'list_events',
      summary: 'List events',
      output: b.page(event).named('EventList'),
    }),
    post: operation('POST /events', {
      id: 'post_event',
      summary: 'Record an event of another backend',
      input: {
        type: posted.refine((type, reject) => (external.includes(type) ? type : reject(mistake))),
        object: b.anyObject(),
      },
      headers: ['Idempotency-Key'],
      output: event,
      status: 201,
      returns: 'The event.',
      errors: ['payload_too_large'],
      isPossible: external.length > 0,
    }),
    stream: operation('GET /events/stream', {
      id: 'stream_events',
      summary: 'Stream new events as server-sent events',
      query: {
        types: b
          .text()
          .describe('Types, or families as `thing.*`, separated by commas.')
          .refine((text) => readNames('types', text, patterns))
          .optional(),
      },
      headers: ['Last-Event-ID'],
      produces: 'text/event-stream',
      returns: 'One message per event: its id, and the event as JSON.',
      errors: ['rate_limited'],
    }),
    read: operation('GET /events/:id', {
      id: 'get_event',
      summary: 'Read one event',
      output: event,
      returns: 'The event.',
    }),
  }
}

export type EventOperations = ReturnType<typeof eventOperations>
