/** One delivery: its requests and responses, advice with a date, and another attempt. */
import { useEffect, useState } from 'preact/hooks'
import { send } from '../api.ts'
import { nowMs } from '../clock.ts'
import { day, duration, instant, listTime } from '../format.ts'
import { RowState } from '../lists/row-state.tsx'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { ExchangeText } from '../parts/json.tsx'
import { Failed, Notice, Part } from '../parts/notices.tsx'
import { Code, Id, State } from '../parts/state.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Attempt } from '../parts/thread.tsx'
import { useSend } from '../use-send.ts'
import { AttemptResponse } from '../webhooks/attempt-response.tsx'
import { adviceOf, type DeliveryAttempt } from './delivery-advice.ts'
import type { Delivery, SentRequest } from './platform-types.ts'
import { session } from './session.ts'
import type { Health } from './shapes.ts'
import { SignatureWords } from './signature-words.tsx'

const REFRESH_MS = 3000

interface DeliveryDetailProps {
  readonly id: string
  /** Called after the delivery was resent. */
  readonly onChange?: () => void
}

/** The parts of a delivery; new attempts appear by themselves. */
export function DeliveryDetail({ id, onChange }: DeliveryDetailProps) {
  const path = `/portal/api/deliveries/${id}`
  const delivery = useLoaded<Delivery>(path, { everyMs: REFRESH_MS })
  const request = useLoaded<SentRequest>(`${path}/request`)
  const health = useLoaded<Health>('/portal/api/health')
  const attempts = delivery.data?.attempts.length
  useEffect(() => {
    if (request.data && request.data.attempts.length !== attempts) request.reload()
  }, [attempts])
  const { webhook_id: webhookId } = delivery.data ?? {}
  const endpoint = health.data?.webhooks.find((row) => row.id === webhookId)
  return (
    <Part of={delivery} subject="the delivery">
      {(data) => (
        <>
          <DeliveryFacts delivery={data} url={request.data?.url ?? endpoint?.url} />
          <Advice delivery={data} offAt={endpoint?.off_at ?? null} />
          {session.value!.sections.webhooks === 'write' && (
            <Resend
              path={path}
              onSent={() => {
                delivery.reload()
                onChange?.()
              }}
            />
          )}
          {[...data.attempts].reverse().map((attempt, at) => (
            <AttemptView
              key={attempt.n}
              attempt={attempt}
              request={request.data}
              isOpen={at === 0}
            />
          ))}
        </>
      )}
    </Part>
  )
}

interface DeliveryFactsProps {
  readonly delivery: Delivery
  readonly url: string | undefined
}

const DeliveryFacts = ({ delivery, url }: DeliveryFactsProps) => (
  <Facts
    of={[
      [
        'Event',
        <>
          <span class="mono">{delivery.event_type}</span>{' '}
          <Id id={delivery.event_id} subject="event id" />
        </>,
      ],
      url === undefined ? undefined : ['Endpoint', url, 'mono'],
      ['State', <RowState of="Delivery" row={delivery} />],
      delivery.next_attempt_at === null
        ? undefined
        : ['Next attempt', instant(delivery.next_attempt_at)],
    ]}
  />
)

interface AdviceProps {
  readonly delivery: Delivery
  /** The time at which the engine disables the endpoint, unless a delivery succeeds. */
  readonly offAt: string | null
}

/** Names the fault of the receiver, and the date of the deadline. */
function Advice({ delivery: { state, attempts }, offAt }: AdviceProps) {
  const last = attempts.at(-1)
  const advice = last && adviceOf(last)
  if (state === 'delivered' || advice === undefined) return null
  return (
    <Notice
      tone={state === 'pending' ? 'warn' : 'bad'}
      word={offAt === null ? 'To fix' : `Fix by ${day(offAt)}`}
    >
      {advice}
      {offAt !== null && ' The endpoint is switched off then if no delivery succeeds.'}
    </Notice>
  )
}

function Resend({ path, onSent }: { readonly path: string; readonly onSent: () => void }) {
  const [isSent, setSent] = useState(false)
  const { isBusy, failure, run } = useSend()
  const resend = () =>
    run(async () => {
      setSent(false)
      await send('POST', `${path}/resend`)
      setSent(true)
      onSent()
    })
  return (
    <>
      <div class="bar">
        <Button kind="first" busy={isBusy && 'Sending…'} onClick={resend}>
          Send again
        </Button>
        <span class="soft small" role="status">
          {isSent && 'Queued again. The attempt appears here.'}
        </span>
      </div>
      {failure && <Failed failure={failure} />}
    </>
  )
}

interface AttemptViewProps {
  readonly attempt: DeliveryAttempt
  readonly request: SentRequest | undefined
  readonly isOpen: boolean
}

function AttemptView({ attempt, request, isOpen }: AttemptViewProps) {
  const { n, at, status, error, duration_ms } = attempt
  const isAccepted = status !== null && status >= 200 && status < 300
  const sent = request?.attempts.find((each) => each.n === n)
  return (
    <Attempt
      isOpen={isOpen}
      line={
        <>
          <State tone={isAccepted ? 'ok' : 'bad'}>Attempt {n}</State>{' '}
          <time class="soft" dateTime={at}>
            {listTime(at, nowMs())}
          </time>{' '}
          {status !== null && <Code status={status} />}{' '}
          <span class="soft">{isAccepted ? 'accepted' : error}</span>{' '}
          <span class="right">{duration(duration_ms)}</span>
        </>
      }
    >
      <Tabs
        label={`Attempt ${n}`}
        tabs={[
          {
            name: 'response',
            label: 'Response',
            content: () => <AttemptResponse attempt={attempt} />,
          },
          {
            name: 'request',
            label: 'Request',
            content: () => <Request body={request?.body} sent={sent} />,
          },
          {
            name: 'signature',
            label: 'Signature',
            content: () => <SignatureWords headers={sent?.headers ?? {}} />,
          },
        ]}
      />
    </Attempt>
  )
}

interface RequestProps {
  /** Null: not stored. */
  readonly body: string | null | undefined
  readonly sent: SentRequest['attempts'][number] | undefined
}

function Request({ body, sent }: RequestProps) {
  if (!sent) return null
  if (!sent.headers) return <p class="soft small">The headers of this attempt are not stored.</p>
  return (
    <>
      <ExchangeText start={`POST ${sent.url}`} headers={sent.headers} body={body ?? undefined} />
      {body === null && (
        <p class="hint">The body is not stored: a test, or an event that was purged.</p>
      )}
    </>
  )
}
