/** Assembles the mail of a service: its transport, or files in the data folder. */

import type { ServiceDefinition } from '../declare/resources/service.ts'
import { mailFolder } from '../platform/config/environment.ts'
import { MAIL_KINDS, policyOf } from '../platform/jobs/job.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import { createFileTransport } from '../platform/mail/file-transport.ts'
import { createMailer, type MailerDeps } from '../platform/mail/mailer.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane } from './job-lane.ts'

/** The sender of mail that is stored as files. */
const FILE_SENDER = 'no-reply@localhost'

export interface MailModule {
  readonly components: readonly Component[]
  /** Sends all mail that is due, and returns the number of mails that the transport accepted. */
  sendDue(): Promise<number>
}

export function assembleMail(
  foundation: Foundation,
  { mail }: Pick<ServiceDefinition, 'mail'>,
  queue: JobQueue,
  { templates, mayStillMail }: Pick<MailerDeps, 'templates' | 'mayStillMail'>,
): MailModule {
  const { config, db, clock } = foundation
  const transport = mail?.transport ?? createFileTransport(mailFolder(config))
  const from = mail?.from ?? FILE_SENDER
  const { handlers, sentCount } = createMailer({
    ...{ db, clock, transport, from, templates, mayStillMail },
  })
  const lanes = MAIL_KINDS.map((kind) =>
    createJobLane(foundation, {
      lane: policyOf(kind).lane,
      handlers: handlers.filter((handler) => handler.kind === kind),
      queue,
      isOutward: true,
    }),
  )
  return {
    components: lanes.map(({ component }) => component),
    async sendDue() {
      const before = sentCount()
      for (const lane of lanes) await lane.runDue()
      return sentCount() - before
    },
  }
}
