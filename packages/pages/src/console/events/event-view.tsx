/** One event: the thread from its request to the last attempt, and its payload. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { instant } from '../../format.ts'
import { stateOf } from '../../lists/state-words.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { copyText } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Check } from '../../parts/field.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Empty, Failed, Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { say } from '../../parts/toast.tsx'
import { href, type PageProps } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { mayChange } from '../session.ts'
import { EventPayload } from './event-payload.tsx'
import { addressOf, type EventDetail, isoOfSeconds } from './event-shapes.ts'
import { EventThread } from './event-thread.tsx'

interface EventViewProps {
  readonly id: string
  /** The delivery that the URL names. */
  readonly deliveryId?: string | undefined
}

const EVERY_MS = 5000

export function EventView({ id, deliveryId }: EventViewProps) {
  const path = withQuery(`/admin/events/${encodeURIComponent(id)}`, { expand: 'deliveries' })
  const event = useLoaded<EventDetail>(path, { everyMs: EVERY_MS })
  const [isResending, setResending] = useState(false)
  const crumbs = [{ label: 'Events', href: href('/console/events') }]
  const row = event.data
  return (
    <Screen title={row?.type ?? id} crumbs={crumbs}>
      <Part of={event} subject="the event">
        {(data) => (
          <>
            <Head event={data} onResend={() => setResending(true)} />
            <div class="cols">
              <section aria-labelledby="thread">
                <h2 id="thread">The thread</h2>
                <EventThread event={data} deliveryId={deliveryId} onChange={event.reload} />
              </section>
              <EventPayload event={data} />
            </div>
          </>
        )}
      </Part>
      <CallLine path={path} />
      {row && isResending && (
        <Resend event={row} onClose={() => setResending(false)} onDone={event.reload} />
      )}
    </Screen>
  )
}

interface HeadProps {
  readonly event: EventDetail
  readonly onResend: () => void
}

function Head({ event, onResend }: HeadProps) {
  const [tone, words] = stateOf('ListedEvent', event)
  const at = isoOfSeconds(event.created)
  const scope = { customer: event.customer, mode: event.mode === 'test' ? 'test' : undefined }
  return (
    <div class="head">
      <p class="small">
        <State tone={tone}>{words}</State> <time dateTime={at}>{instant(at)}</time>
        {event.object && (
          <>
            {' · '}
            <a href={href(`/console/data/${event.object}`, scope)}>{event.object}</a>
          </>
        )}
        {' · '}
        <a href={href(`/console/customers/${event.customer}`)}>{event.customer_name}</a>,{' '}
        {event.mode}
      </p>
      <div class="acts">
        <Button size="tiny" onClick={() => copyText(event.id)}>
          Copy id
        </Button>
        {event.deliveries.total > 0 && mayChange('support') && (
          <Button size="tiny" onClick={onResend}>
            Resend…
          </Button>
        )}
      </div>
    </div>
  )
}

interface ResendProps {
  readonly event: EventDetail
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Selects the deliveries to resend: at first those without success. */
function Resend({ event, onClose, onDone }: ResendProps) {
  const deliveries = event.deliveries.data
  const [selected, setSelected] = useState<ReadonlySet<string>>(
    new Set(deliveries.filter(({ state }) => state !== 'delivered').map(({ id }) => id)),
  )
  const { isBusy, failure, run } = useSend()
  const toggle = (id: string, isOn: boolean) => {
    const next = new Set(selected)
    if (isOn) next.add(id)
    else next.delete(id)
    setSelected(next)
  }
  const resend = () =>
    run(async () => {
      for (const id of selected) {
        await send('POST', `/admin/as/${event.customer}/${event.mode}/deliveries/${id}/resend`)
      }
      say(`Sending to ${selected.size} ${selected.size === 1 ? 'endpoint' : 'endpoints'}.`)
      onDone()
      onClose()
    })
  return (
    <Dialog
      title={`Resend ${event.type}`}
      onClose={onClose}
      submit={{
        verb: `Send to ${selected.size} ${selected.size === 1 ? 'endpoint' : 'endpoints'}`,
        isDisabled: selected.size === 0,
        busy: isBusy && 'Sending…',
        run: resend,
      }}
    >
      <p>The same bytes with the same event id: a receiver that drops repeats ignores them.</p>
      {deliveries.map((delivery) => {
        const [tone, word] = stateOf('Delivery', delivery)
        return (
          <Check
            key={delivery.id}
            checked={selected.has(delivery.id)}
            onChange={(isOn) => toggle(delivery.id, isOn)}
            label={
              <>
                {addressOf(delivery.url)} <State tone={tone}>{word}</State>
              </>
            }
          />
        )
      })}
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

/** `/console/deliveries/{id}`: the event of a delivery, with the delivery marked. */
export function Page({ params }: PageProps) {
  const id = params.id!
  const delivery = useLoaded<{ readonly event_id: string }>(
    `/admin/deliveries/${encodeURIComponent(id)}`,
  )
  if (delivery.data) return <EventView id={delivery.data.event_id} deliveryId={id} />
  return (
    <Screen title="Delivery" crumbs={[{ label: 'Webhooks', href: href('/console/webhooks') }]}>
      <Part of={delivery} subject="the delivery">
        {() => <Empty title="The delivery has no event" />}
      </Part>
    </Screen>
  )
}
