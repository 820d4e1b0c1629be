/**
 * Enqueues mail in the transaction of the change that causes it. A kind of mail has a template,
 * which `mailer.ts` runs when the mail is sent.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { EnqueueJob } from '../jobs/queue.ts'
import { countJobs } from '../jobs/store.ts'
import type { Tx } from '../storage/database.ts'

/** Mail that waits at a time; beyond it, requests of strangers get 503. */
const WAITING_MAX = 10_000
/** The size of a payload in characters. */
const MAIL_PAYLOAD_MAX = 16_384

/** A mail of a kind. */
interface NewMail {
  /** The scope of its recipient; undefined for operators. */
  readonly scope: Scope | undefined
  /** Contains no secret. */
  readonly payload: object
}

export interface MailOutbox {
  /** Enqueues a mail, which is sent after the commit. */
  enqueue(tx: Tx, kind: string, mail: NewMail): Promise<void>
  /** Enqueues the mail of a stranger's request. Throws `overloaded` if too much mail waits. */
  enqueueBounded(tx: Tx, kind: string, mail: NewMail): Promise<void>
}

export function createMailOutbox(enqueueJob: EnqueueJob): MailOutbox {
  const outbox: MailOutbox = {
    async enqueue(tx, kind, { scope, payload }) {
      const input = JSON.stringify(payload)
      if (input.length > MAIL_PAYLOAD_MAX) throw new Failure('payload_too_large')
      await enqueueJob(tx, { kind: 'mail', name: kind, scope, input })
    },
    async enqueueBounded(tx, kind, mail) {
      const waiting = await countJobs(tx, { lane: 'mail', state: 'waiting' }, WAITING_MAX)
      if (waiting >= WAITING_MAX) {
        throw new Failure('overloaded', undefined, { headers: { 'retry-after': '60' } })
      }
      await outbox.enqueue(tx, kind, mail)
    },
  }
  return outbox
}
