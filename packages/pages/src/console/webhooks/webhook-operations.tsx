/** The dialogs of an endpoint: edit, rotate, resend, replay, disable, enable, delete. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { nowMs } from '../../clock.ts'
import { count, number } from '../../format.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { RotateSecret } from '../../webhooks/rotate-secret.tsx'
import { hostOf } from '../events/event-shapes.ts'
import { WebhookForm } from './webhook-form.tsx'
import { actingPath, type WebhookHealth, type WebhookRow } from './webhook-shapes.ts'

export type Operation = 'edit' | 'rotate' | 'recover' | 'replay' | 'pause' | 'resume' | 'delete'

interface OperationProps {
  readonly row: WebhookRow
  readonly health: WebhookHealth
  readonly onClose: () => void
  readonly onDone: () => void
}

export function WebhookOperation(props: OperationProps & { readonly operation: Operation }) {
  switch (props.operation) {
    case 'edit':
      return <WebhookForm row={props.row} onClose={props.onClose} onDone={props.onDone} />
    case 'rotate':
      return (
        <RotateSecret path={actingPath(props.row)} onClose={props.onClose} onDone={props.onDone} />
      )
    case 'recover':
    case 'replay':
      return <Replay {...props} kind={props.operation} />
    case 'pause':
      return <Disable {...props} />
    case 'resume':
      return <Enable {...props} />
    case 'delete':
      return <Delete {...props} />
  }
}

const DAY_MS = 86_400_000
const PERIODS = [
  ['1', 'In the last day'],
  ['7', 'In the last 7 days'],
  ['30', 'In the last 30 days'],
] as const

const resultOf = (sent: number, waiting: number): string => {
  if (sent > 0) return `Sending ${count(sent, 'delivery', 'deliveries')}.`
  return waiting > 0
    ? `Nothing to resend: ${count(waiting, 'delivery waits', 'deliveries wait')} for an attempt.`
    : 'Nothing to resend in this period.'
}

/** Resends the failed deliveries since an instant, or replays all events. */
function Replay(props: OperationProps & { readonly kind: 'recover' | 'replay' }) {
  const { row, health, kind, onClose, onDone } = props
  const [days, setDays] = useState<string>('1')
  const [types, setTypes] = useState('')
  const { isBusy, failure, run } = useSend()
  const isReplay = kind === 'replay'
  const start = () =>
    run(async () => {
      const eventTypes = types.split(/[\s,]+/).filter(Boolean)
      const body = {
        since: new Date(nowMs() - Number(days) * DAY_MS).toISOString(),
        ...(isReplay && eventTypes.length > 0 && { event_types: eventTypes }),
      }
      const reply = await send<{ count: number }>('POST', `${actingPath(row)}/${kind}`, { body })
      say(resultOf(reply.body.count, health.waiting))
      onDone()
      onClose()
    })
  return (
    <Dialog
      title={isReplay ? 'Replay events' : 'Resend failed deliveries'}
      onClose={onClose}
      submit={{ verb: isReplay ? 'Replay' : 'Resend', busy: isBusy && 'Starting…', run: start }}
    >
      <p>
        {isReplay
          ? 'The engine sends every event again, the delivered ones too: the receiver sees repeats.'
          : `The engine resends failed and exhausted deliveries. ${number(
              health.failed_since.count,
            )} failed for good; ${number(health.waiting)} still wait and need no resend.`}
      </p>
      <Field label="Since" value={days} onInput={setDays} options={PERIODS} />
      {isReplay && (
        <Field
          label="Event types"
          value={types}
          onInput={setTypes}
          hint="Empty: all types of the endpoint."
        />
      )}
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}

const Disable = ({ row, health, onClose, onDone }: OperationProps) => (
  <Confirm
    title="Disable the endpoint"
    verb="Disable"
    isDangerous
    onClose={onClose}
    run={async () => {
      await send('PATCH', actingPath(row), { body: { active: false } })
      onDone()
    }}
  >
    <p>
      {count(health.waiting, 'delivery waits', 'deliveries wait')}, and new events wait as well,
      until you enable it. Nothing is lost for 30 days.
    </p>
  </Confirm>
)

const Enable = ({ row, health, onClose, onDone }: OperationProps) => (
  <Confirm
    title="Enable the endpoint"
    verb="Enable"
    busyVerb="Verifying the URL…"
    onClose={onClose}
    run={async () => {
      await send('PATCH', actingPath(row), { body: { active: true } })
      onDone()
    }}
  >
    <p>
      The server first verifies the URL. It then sends{' '}
      {count(health.waiting, 'delivery', 'deliveries')}.
    </p>
  </Confirm>
)

const Delete = ({ row, health, onClose }: OperationProps) => (
  <Confirm
    title="Delete the endpoint"
    verb="Delete the endpoint"
    busyVerb="Deleting…"
    isDangerous
    typed={hostOf(row.url)}
    onClose={onClose}
    run={async () => {
      await send('DELETE', actingPath(row))
      say(`${hostOf(row.url)} is deleted.`)
      go(href('/console/webhooks'))
    }}
  >
    <p>
      {count(health.waiting, 'delivery that waits ends', 'deliveries that wait end')} as failed, and
      cannot be resent.
    </p>
  </Confirm>
)
