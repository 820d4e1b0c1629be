/**
 * Sends the mail of the outbox. Each mail is a job: an attempt runs the template and hands the
 * message to the transport. A mail is sent at least once: a node that is killed between the
 * transport and the end of the attempt sends it again, with the same `Message-ID`.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { StoredPrincipal } from '../../kernel/principal.ts'
import { type JobAttempt, type JobHandler, MAIL_KINDS } from '../jobs/job.ts'
import type { Database, Tx } from '../storage/database.ts'
import { checkMessage, isPermanentError, type MailContent, type MailTransport } from './message.ts'

/** A mail with its recipient. */
export interface AddressedMail extends MailContent {
  readonly to: string
}

/**
 * Writes a mail from its payload, in a transaction that stores the hash of its token. Undefined: no
 * mail is due, for example because the account does not exist. `maker`: the administrator who
 * caused it; undefined: none did.
 */
type MailTemplate = (
  tx: Tx,
  // biome-ignore lint/suspicious/noExplicitAny: each kind of mail has a payload of its own
  payload: any,
  nowMs: number,
  maker: StoredPrincipal | undefined,
) => Promise<AddressedMail | undefined>

export type MailTemplates = Readonly<Record<string, MailTemplate>>

/** The template of mail whose text was written when it was enqueued. */
const plain: MailTemplate = async (_tx, mail: AddressedMail) => mail

const ATTEMPTS = 8
const SEND_TIMEOUT_MS = 60_000
const ERROR_MAX = 300

export interface MailerDeps {
  readonly db: Database
  readonly clock: Clock
  readonly transport: MailTransport
  readonly from: string
  readonly templates: MailTemplates
  /** Whether the administrator who caused a mail may still do so. */
  readonly mayStillMail: (tx: Tx, maker: StoredPrincipal) => Promise<boolean>
}

export interface Mailer {
  /** For each kind of job, one for each kind of mail. */
  readonly handlers: readonly JobHandler[]
  /** Mail that the transport has accepted. */
  sentCount(): number
}

/** Returns the message of an error without control characters. */
const describeMailError = (error: unknown): string =>
  String((error as Error | null)?.message ?? error)
    .replace(/[\x00-\x1f\x7f]+/g, ' ')
    .slice(0, ERROR_MAX)

/** The identifier of the message of a job. */
const messageIdOf = (job: string): string => job.replace(/^job_/, 'mail_')

export function createMailer(deps: MailerDeps): Mailer {
  const { db, clock, transport, from, templates, mayStillMail } = deps
  let sent = 0
  const send = (template: MailTemplate) => async (attempt: JobAttempt) => {
    const { maker, ...payload } = JSON.parse(attempt.input) as { maker?: StoredPrincipal }
    const mail = await db.write(async (tx) => {
      if (maker && !(await mayStillMail(tx, maker))) return undefined
      return template(tx, payload, clock.now(), maker)
    })
    if (!mail) return
    const message = { id: messageIdOf(attempt.id), from, ...mail }
    checkMessage(message)
    await transport.send(message)
    sent++
  }
  return {
    handlers: MAIL_KINDS.flatMap((kind) =>
      Object.entries({ ...templates, plain }).map(([name, template]) => ({
        kind,
        name,
        attempts: ATTEMPTS,
        timeoutMs: SEND_TIMEOUT_MS,
        run: send(template),
        isFinal: isPermanentError,
        describeError: describeMailError,
      })),
    ),
    sentCount: () => sent,
  }
}
