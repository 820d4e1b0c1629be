/** The dialogs of an endpoint: edit, rotate, resend, replay, disable, enable, delete. */
import { send } from '../../api.ts'
import { inDays } from '../../clock.ts'
import { count, number } from '../../format.ts'
import type { Words } from '../../forms/field-words.ts'
import { go, href } from '../../router.ts'
import { RotateSecret } from '../../webhooks/rotate-secret.tsx'
import { hostOf } from '../events/event-shapes.ts'
import { formOf } from '../operation-forms.tsx'
import { confirmation, type RowOperation } from '../row-drawer.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { actingPath, type WebhookHealth, type WebhookRow } from './webhook-shapes.ts'

/** An endpoint and its health. */
interface Target {
  readonly row: WebhookRow
  readonly health: WebhookHealth
}

const PERIODS = [
  ['-1', 'In the last day'],
  ['-7', 'In the last 7 days'],
  ['-30', 'In the last 30 days'],
] as const

const replayWords: Words = {
  since: { hint: null, kind: 'text', toJson: inDays, options: () => PERIODS },
  event_types: { hint: 'Empty: all types of the endpoint.' },
}

const resultOf = (sent: number, waiting: number): string => {
  if (sent > 0) return `Sending ${count(sent, 'delivery', 'deliveries')}.`
  return waiting > 0
    ? `Nothing to resend: ${count(waiting, 'delivery waits', 'deliveries wait')} for an attempt.`
    : 'Nothing to resend in this period.'
}

/** Resends the failed deliveries since an instant, or replays all events. */
const replay = (kind: 'recover' | 'replay') =>
  formOf<Target, { readonly count: number }>(({ row, health }) => ({
    operation: `${kind}_webhook`,
    path: `${actingPath(row)}/${kind}`,
    title: kind === 'replay' ? 'Replay events' : 'Resend failed deliveries',
    verb: kind === 'replay' ? 'Replay' : 'Resend',
    busyVerb: 'Starting…',
    words: replayWords,
    values: { since: '-1' },
    above: <p>{kind === 'replay' ? REPLAY_WORDS : resendWords(health)}</p>,
    said: ({ count: sent }) => resultOf(sent, health.waiting),
  }))

const REPLAY_WORDS =
  'The engine sends every event again, the delivered ones too: the receiver sees repeats.'

const resendWords = ({ failed_since: failed, waiting }: WebhookHealth): string =>
  `The engine resends failed and exhausted deliveries. ${number(failed.count)} failed for good; ` +
  `${number(waiting)} still wait and need no resend.`

const activate = ({ row }: Target, active: boolean) =>
  send('PATCH', actingPath(row), { body: { active } })

const dialogs = {
  edit: ({ row: { row }, ...props }) => <WebhookForm row={row} {...props} />,
  rotate: ({ row: { row }, ...props }) => <RotateSecret path={actingPath(row)} {...props} />,
  recover: replay('recover'),
  replay: replay('replay'),
  pause: confirmation((target) => ({
    title: 'Disable the endpoint',
    verb: 'Disable',
    isDangerous: true,
    request: () => activate(target, false),
    done: 'The endpoint is disabled.',
    text:
      `${count(target.health.waiting, 'delivery waits', 'deliveries wait')}, and new events wait ` +
      'as well, until you enable it. Nothing is lost for 30 days.',
  })),
  resume: confirmation((target) => ({
    title: 'Enable the endpoint',
    verb: 'Enable',
    busyVerb: 'Verifying the URL…',
    request: () => activate(target, true),
    done: 'The endpoint is enabled.',
    text:
      'The server first verifies the URL. It then sends ' +
      `${count(target.health.waiting, 'delivery', 'deliveries')}.`,
  })),
  delete: confirmation(({ row, health: { waiting } }) => ({
    title: 'Delete the endpoint',
    verb: 'Delete the endpoint',
    busyVerb: 'Deleting…',
    isDangerous: true,
    typed: hostOf(row.url),
    request: () => send('DELETE', actingPath(row)),
    done: `${hostOf(row.url)} is deleted.`,
    isEnd: true,
    text:
      `${count(waiting, 'delivery that waits ends', 'deliveries that wait end')} as failed, and ` +
      'cannot be resent.',
  })),
} satisfies Readonly<Record<string, RowOperation<Target>['dialog']>>

export type Operation = keyof typeof dialogs

interface WebhookOperationProps extends Target {
  readonly operation: Operation
  readonly onClose: () => void
  readonly onDone: () => void
}

export function WebhookOperation({ operation, row, health, ...after }: WebhookOperationProps) {
  const Dialog: RowOperation<Target>['dialog'] = dialogs[operation]
  return <Dialog row={{ row, health }} onEnd={() => go(href('/console/webhooks'))} {...after} />
}
