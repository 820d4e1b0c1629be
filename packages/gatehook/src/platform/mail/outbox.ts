/**
 * Enqueues mail in the transaction of the change that causes it. A kind of mail has a template,
 * which `mailer.ts` runs when the mail is sent.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Scope, StoredPrincipal } from '../../kernel/principal.ts'
import { type JobCaller, type MailKind, policyOf } from '../jobs/job.ts'
import type { EnqueueJob } from '../jobs/queue.ts'
import { countJobs } from '../jobs/store.ts'
import type { Reader, Tx } from '../storage/database.ts'

/** Mail of a kind of job that waits at a time; beyond it, requests for such mail get 503. */
const WAITING_MAX = 10_000
/** The size of a payload in characters. */
const MAIL_PAYLOAD_MAX = 16_384

/** A mail of a kind. */
interface NewMail {
  /** The scope of its recipient; undefined for operators. */
  readonly scope: Scope | undefined
  /** Contains no secret, and no member `maker`. */
  readonly payload: object
  /** The administrator who caused it. Default: none; the server then verifies no rights. */
  readonly maker?: StoredPrincipal | undefined
  /** Default: `mail`. */
  readonly job?: MailKind
  /** Default: that of the transaction. */
  readonly caller?: JobCaller
}

export interface MailOutbox {
  /** Enqueues a mail, which is sent after the commit. */
  enqueue(tx: Tx, kind: string, mail: NewMail): Promise<void>
  /** Returns whether too much mail of a kind of job waits. */
  isFull(from: Reader, job: MailKind): Promise<boolean>
}

export const createMailOutbox = (enqueueJob: EnqueueJob): MailOutbox => ({
  async enqueue(tx, kind, { scope, payload, maker, job = 'mail', caller }) {
    const input = JSON.stringify({ ...payload, maker })
    if (input.length > MAIL_PAYLOAD_MAX) throw new Failure('payload_too_large')
    await enqueueJob(tx, { kind: job, name: kind, scope, caller, input })
  },
  async isFull(from, job) {
    const { lane } = policyOf(job)
    return (await countJobs(from, { lane, state: 'waiting' }, WAITING_MAX)) >= WAITING_MAX
  },
})
