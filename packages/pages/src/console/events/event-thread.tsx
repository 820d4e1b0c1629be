/** The thread of an event: its request, its deliveries and their attempts. */
import { send } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { count, duration, listTime, period, timeOfDay } from '../../format.ts'
import { stateOf } from '../../lists/state-words.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { ExchangeText } from '../../parts/json.tsx'
import { Empty, Failed, Part } from '../../parts/notices.tsx'
import { Code, State } from '../../parts/state.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Attempt, Thread, ThreadNode } from '../../parts/thread.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { AttemptResponse } from '../../webhooks/attempt-response.tsx'
import { mayChange } from '../session.ts'
import {
  type AttemptRow,
  addressOf,
  attemptSentence,
  type DeliveryRow,
  type EventDelivery,
  type EventDetail,
  hostOf,
  nextReason,
  reasonOf,
} from './event-shapes.ts'

interface EventThreadProps {
  readonly event: EventDetail
  readonly deliveryId: string | undefined
  readonly onChange: () => void
}

export function EventThread({ event, deliveryId, onChange }: EventThreadProps) {
  const deliveries = event.deliveries.data
  const [tone] = stateOf('ListedEvent', event)
  return (
    <Thread label="From the request to the last attempt">
      {event.request_id && (
        <ThreadNode
          kind="request"
          tone="ok"
          line={
            <a class="mono" href={href(`/console/requests/${event.request_id}`)}>
              {event.request_id}
            </a>
          }
        />
      )}
      <ThreadNode
        kind="event"
        tone={tone}
        isHere={deliveryId === undefined}
        line={
          <>
            <span class="mono">{event.id}</span> <span class="soft">committed with the row</span>
          </>
        }
      >
        {deliveries.length === 0 ? (
          <WithoutDelivery event={event} />
        ) : (
          <ol>
            {deliveries.map((delivery) => (
              <DeliveryNode
                key={delivery.id}
                event={event}
                delivery={delivery}
                isHere={delivery.id === deliveryId}
                onChange={onChange}
              />
            ))}
          </ol>
        )}
      </ThreadNode>
    </Thread>
  )
}

/** Says why an event has no delivery. */
function WithoutDelivery({ event }: Pick<EventThreadProps, 'event'>) {
  const { named_by: endpoints } = event.deliveries
  if (endpoints.length === 0) {
    return (
      <Empty title="No endpoint receives this type">
        <a href={href('/console/webhooks', { customer: event.customer, new: event.type })}>
          Add an endpoint
        </a>
      </Empty>
    )
  }
  return (
    <Empty title="No endpoint received this event">
      <ul>
        {endpoints.map(({ webhook_id, url, lacks }) => (
          <li key={webhook_id}>
            <a href={href(`/console/webhooks/${webhook_id}`)}>{addressOf(url)}</a>{' '}
            {lacks === null ? (
              'names the type, but was registered or changed after the event.'
            ) : (
              <>
                names the type, but may not read it: its creator lacks <code>{lacks}</code>.
              </>
            )}
          </li>
        ))}
      </ul>
    </Empty>
  )
}

interface DeliveryNodeProps {
  readonly event: EventDetail
  readonly delivery: EventDelivery
  readonly isHere: boolean
  readonly onChange: () => void
}

function DeliveryNode({ event, delivery, isHere, onChange }: DeliveryNodeProps) {
  const [tone, word] = stateOf('Delivery', delivery)
  const attempts = [...delivery.attempts].reverse()
  const isFailing = delivery.state !== 'delivered'
  const webhookHref = href(`/console/webhooks/${delivery.webhook_id}`)
  return (
    <ThreadNode
      kind="delivery"
      tone={tone}
      isHere={isHere}
      line={
        <>
          <a href={webhookHref}>{addressOf(delivery.url)}</a> <State tone={tone}>{word}</State>{' '}
          <span class="soft small">
            {count(attempts.length, 'attempt')}
            {delivery.api_version && `, as ${delivery.api_version}`}
          </span>
        </>
      }
    >
      {isFailing && <NextAttempt event={event} delivery={delivery} onChange={onChange} />}
      {attempts.map((attempt, at) => (
        <AttemptView
          key={attempt.n}
          attempt={attempt}
          delivery={delivery}
          isOpen={isFailing && at === 0}
        />
      ))}
    </ThreadNode>
  )
}

const MAX_ATTEMPTS_NOTE = 'No retry follows. You can resend the delivery.'

function NextAttempt({ event, delivery, onChange }: Omit<DeliveryNodeProps, 'isHere'>) {
  const { isBusy, failure, run } = useSend()
  const at = delivery.next_attempt_at
  const waitMs = at === null ? 0 : Date.parse(at) - slowNow().value
  const sendNow = () =>
    run(async () => {
      const path = `/admin/as/${event.customer}/${event.mode}/deliveries/${delivery.id}/resend`
      await send('POST', path)
      say(`Due now at ${hostOf(delivery.url)}. An open circuit breaker admits one probe.`)
      onChange()
    })
  return (
    <div class="small">
      {at === null ? (
        <span class="soft">{nextReason(delivery) ?? MAX_ATTEMPTS_NOTE}</span>
      ) : (
        <>
          Next attempt {waitMs > 1000 ? `in ${period(waitMs)}` : 'now'} ({timeOfDay(at)} UTC).{' '}
          <span class="soft">{nextReason(delivery)}</span>
        </>
      )}{' '}
      {mayChange('support') && (
        <Button size="tiny" busy={isBusy && 'Sending…'} onClick={sendNow}>
          Send now
        </Button>
      )}
      {failure && <Failed failure={failure} />}
    </div>
  )
}

interface AttemptViewProps {
  readonly attempt: AttemptRow
  readonly delivery: EventDelivery
  readonly isOpen: boolean
}

function AttemptView({ attempt, delivery, isOpen }: AttemptViewProps) {
  const isAccepted = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
  const sentence = attemptSentence(attempt)
  return (
    <Attempt
      isOpen={isOpen}
      line={
        <>
          <State tone={isAccepted ? 'ok' : 'bad'}>Attempt {attempt.n}</State>{' '}
          <time class="soft" dateTime={attempt.at}>
            {listTime(attempt.at, slowNow().value)}
          </time>{' '}
          {attempt.status === null ? (
            <span class="c-bad">{reasonOf(attempt.error)}</span>
          ) : (
            <Code status={attempt.status} />
          )}{' '}
          <span class="right">{duration(attempt.duration_ms)}</span>
        </>
      }
    >
      <Tabs
        label={`Attempt ${attempt.n}`}
        tabs={[
          {
            name: 'response',
            label: 'Response',
            content: () => <AttemptResponse attempt={attempt} />,
          },
          {
            name: 'request',
            label: 'Request',
            content: () => <SentRequest n={attempt.n} delivery={delivery} />,
          },
        ]}
      />
      {sentence && <p class="hint">{sentence}</p>}
    </Attempt>
  )
}

interface SentRequestProps {
  readonly n: number
  readonly delivery: EventDelivery
}

function SentRequest({ n, delivery }: SentRequestProps) {
  const detail = useLoaded<DeliveryRow>(`/admin/deliveries/${delivery.id}`)
  return (
    <Part of={detail} subject="the request">
      {({ attempts }) => {
        const attempt = attempts.find((sent) => sent.n === n)
        return attempt?.request_headers ? (
          <ExchangeText start={`POST ${attempt.request_url}`} headers={attempt.request_headers} />
        ) : (
          <p class="soft small">The headers of this attempt are not stored.</p>
        )
      }}
    </Part>
  )
}
