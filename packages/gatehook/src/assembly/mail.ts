/** Assembles the mail of a service: its transport, or files in the data folder. */

import type { ServiceDefinition } from '../declare/resources/service.ts'
import { mailFolder } from '../platform/config/environment.ts'
import { createFileTransport } from '../platform/mail/file-transport.ts'
import { createMailer, type Mailer, type MailTemplates } from '../platform/mail/mailer.ts'
import type { MailOutbox } from '../platform/mail/outbox.ts'
import type { Metric } from '../platform/telemetry/metric.ts'
import type { Component, Foundation } from './foundation.ts'

/** The sender of mail that is stored as files. */
const FILE_SENDER = 'no-reply@localhost'

export interface MailComponent extends Component, Pick<Mailer, 'sendDue'> {
  readonly outbox: MailOutbox
}

export function assembleMail(
  { config, db, clock, log, delivers = true }: Foundation,
  { mail }: Pick<ServiceDefinition, 'mail'>,
  outbox: MailOutbox,
  templates: MailTemplates,
): MailComponent {
  const transport = mail?.transport ?? createFileTransport(mailFolder(config))
  const from = mail?.from ?? FILE_SENDER
  const mailer = createMailer({ db, clock, log, outbox, transport, from, templates })
  const { sendDue, chores, polled, start, stop } = mailer
  const metrics = mailMetrics(mailer)
  const outward = { isOutward: true, stop, ...(delivers && { polled, start }) }
  return { outbox, sendDue, chores, metrics, ...outward }
}

const mailMetrics = ({ figures }: Pick<Mailer, 'figures'>): readonly Metric[] => [
  {
    name: 'gatehook_mail_attempts_total',
    help: 'Attempts to send mail by outcome: sent, retried, failed for good.',
    type: 'counter',
    read: () =>
      Object.entries(figures()).map(([outcome, value]) => ({ value, labels: { outcome } })),
  },
]
