/** The pages on webhooks and events: how to receive them, and every type with its payload. Pure. */

import type { EventSample } from '../../declare/resources/event-samples.ts'
import { RETENTION_MS } from '../../outbound/deliveries/retry-schedule.ts'
import { readExample } from './assets.ts'
import {
  type ContentBlock,
  code,
  list,
  type Page,
  pretty,
  type Section,
  softText,
  text,
} from './content.ts'
import { operationSection } from './operation-section.ts'
import type { PageContext } from './page-source.ts'

const GROUP = 'Events'
const DAY_MS = 86_400_000

export const eventAnchor = (type: string): string => `event-${type.replace(/[^a-z0-9]+/g, '-')}`

export function webhooksPage(context: PageContext): Page {
  const { reader, base, events } = context
  const isOwn = (path: string) => path.startsWith('/webhooks') || path.startsWith('/deliveries')
  const operations = reader.operations.filter(({ path }) => isOwn(path))
  return {
    name: 'webhooks',
    title: 'Webhooks',
    group: GROUP,
    summary: 'Receive events: register, verify, and the payload of every type.',
    blocks: [
      text('Register a URL, and the server sends it each event as a signed POST.'),
      list(
        'Respond with 2xx within the time limit, before the work is done.',
        'Any other response is retried, for about three days. 410 ends the registration.',
        'A delivery can arrive twice: use the id of the event to recognize it.',
        'Events can arrive in another order than they occurred.',
      ),
    ],
    aside: [code('A payload', pretty(payloadOf(events[0])))],
    sections: [
      verifySection(),
      ...operations.map((operation) => operationSection(operation, base)),
      ...events.map(eventSection),
    ],
  }
}

const payloadOf = (sample: EventSample | undefined) => ({
  id: 'evt_sample',
  type: sample?.type ?? '',
  created: 1_780_306_200,
  livemode: false,
  data: { object: sample?.object ?? {} },
})

const eventSection = (sample: EventSample): Section => ({
  id: eventAnchor(sample.type),
  title: sample.type,
  blocks: [
    softText(
      sample.scope
        ? `A registration receives it if its creator holds \`${sample.scope}\`.`
        : 'Every registration can receive it.',
    ),
  ],
  aside: [code('Payload', pretty(payloadOf(sample)))],
})

function verifySection(): Section {
  const variants = [
    { label: 'TypeScript', text: readExample('receiver.ts.txt') },
    { label: 'Python', text: readExample('receiver.py') },
  ]
  const aside: ContentBlock[] = [{ kind: 'examples', title: 'Verify a signature', variants }]
  return {
    id: 'verify',
    title: 'Verify a signature',
    blocks: [
      text('Anyone can send a POST to your URL. The signature proves the sender.'),
      list(
        'Read the body as bytes, before any JSON parser.',
        '`Gatehook-Signature` is `t=…,v1=…`: the HMAC-SHA-256 of time, a dot and the body.',
        'The key is the whole secret, `whsec_…`.',
        'Reject a time that differs from yours by more than 5 minutes.',
        'During a rotation there are several `v1`: one valid signature is enough.',
      ),
      text(
        'The receivers on this page start without a secret, because only a registration has it:',
      ),
      list(
        'Start the receiver. It responds with 400, which is enough for the registration.',
        'Register its URL. The response has the `secret`; no later response has it.',
        'Restart the receiver with the secret in the variable `SECRET`.',
      ),
      softText('The headers of Standard Webhooks, `webhook-signature`, are present as well.'),
    ],
    aside,
  }
}

export function eventsPage(context: PageContext): Page {
  const operations = context.reader.operations.filter(({ path }) => path.startsWith('/events'))
  return {
    name: 'events',
    title: 'Events',
    group: GROUP,
    summary: 'Read recorded events, and stream new ones.',
    blocks: [
      text(`The server stores each event for ${RETENTION_MS / DAY_MS} days.`),
      text('Use this list to catch up, and [webhooks](webhooks) to be notified.'),
    ],
    aside: [],
    sections: operations.map((operation) => operationSection(operation, context.base)),
  }
}
