/**
 * Sends the mail of the outbox: claims it in the database, so that one node sends each mail, runs
 * its template, and retries after errors. A mail is sent at least once: a node that is killed
 * between the transport and the commit sends it again, with the same `Message-ID`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { PolledValue } from '../storage/shared-poll.ts'
import { checkMessage, isPermanentError, type MailContent, type MailTransport } from './message.ts'
import type { MailOutbox } from './outbox.ts'
import * as store from './store.ts'

/** A mail with its recipient. */
export interface AddressedMail extends MailContent {
  readonly to: string
}

/**
 * Writes a mail from its payload, in a transaction that stores the hash of its token. Undefined: no
 * mail is due, for example because the account does not exist.
 */
type MailTemplate = (
  tx: Tx,
  // biome-ignore lint/suspicious/noExplicitAny: each kind of mail has a payload of its own
  payload: any,
  nowMs: number,
) => Promise<AddressedMail | undefined>

export type MailTemplates = Readonly<Record<string, MailTemplate>>

/** The template of mail whose text was written when it was enqueued. */
const plain: MailTemplate = async (_tx, mail: AddressedMail) => mail

/** Another node may take a mail after this time. */
const LEASE_MS = 120_000
const SEND_TIMEOUT_MS = 60_000
const MAX_ATTEMPTS = 8
const RETRY_MIN_MS = 30_000
const RETRY_MAX_MS = 2 * 3_600_000
/** Mail that failed is listed by `gatehook doctor` for this time. */
const FAILED_RETENTION_MS = 7 * 86_400_000
const CONCURRENT_MAX = 5
const CHECK_INTERVAL_MS = 250
/** At a stop, the server waits for the current mail for this time. */
const STOP_WAIT_MS = 5_000
const ERROR_MAX = 300

interface MailerDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly outbox: Pick<MailOutbox, 'takeSignal'>
  readonly transport: MailTransport
  readonly from: string
  readonly templates: MailTemplates
}

/** Attempts of this node by outcome. `failed`: no further attempt follows. */
interface MailFigures {
  readonly sent: number
  readonly retried: number
  readonly failed: number
}

export interface Mailer {
  /** Sends all mail that is due, and returns the number of mails that the transport accepted. */
  sendDue(): Promise<number>
  figures(): MailFigures
  /** Finds mail of other nodes, and retries, with each poll of the node. */
  readonly polled: readonly PolledValue[]
  start(): void
  stop(): Promise<void>
  readonly chores: Readonly<Record<string, () => Promise<number>>>
}

/** Returns the delay before the next attempt: 30 s, 2 min, 8 min, …, 2 h. */
export const mailRetryDelayMs = (attempts: number): number =>
  Math.min(RETRY_MIN_MS * 4 ** (attempts - 1), RETRY_MAX_MS)

const errorText = (error: unknown): string =>
  String((error as Error | null)?.message ?? error)
    .replace(/[\x00-\x1f\x7f]+/g, ' ')
    .slice(0, ERROR_MAX)

/** Rejects if the transport takes longer than a lease allows. */
async function sendInTime(work: Promise<void>): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([
      work,
      delay(SEND_TIMEOUT_MS, undefined, { signal: timer.signal, ref: false }).then(() => {
        throw new Error(`the transport did not finish within ${SEND_TIMEOUT_MS / 1000} s`)
      }),
    ])
  } finally {
    timer.abort()
  }
}

/** Creates the function that sends one mail; it returns whether the transport accepted it. */
function createSender(
  { db, clock, log, transport, from, templates }: MailerDeps,
  count: (outcome: keyof MailFigures) => void,
) {
  /** Takes a mail and counts the attempt; undefined if another node has it, or it has failed. */
  const claim = (row: store.MailRow) =>
    db.write(async (tx) => {
      const nowMs = clock.now()
      if (row.attempts >= MAX_ATTEMPTS) {
        await store.failMail(tx, row, nowMs + FAILED_RETENTION_MS, 'the node was stopped')
        tx.afterCommit(() => count('failed'))
        return undefined
      }
      const isMine = (await store.leaseMail(tx, row, nowMs + LEASE_MS)) === 1
      return isMine ? { ...row, attempts: row.attempts + 1 } : undefined
    })

  const recordFailure = async (row: store.MailRow, error: unknown): Promise<void> => {
    const isLast = row.attempts >= MAX_ATTEMPTS || isPermanentError(error)
    const text = errorText(error)
    const { id: mail, kind, attempts } = row
    // The error of a transport may contain the address of the recipient.
    log.warn({ mail, kind, attempts }, isLast ? 'a mail failed' : 'a mail is retried')
    count(isLast ? 'failed' : 'retried')
    const nowMs = clock.now()
    await db.write((tx) =>
      isLast
        ? store.failMail(tx, row, nowMs + FAILED_RETENTION_MS, text)
        : store.postponeMail(tx, row, nowMs + mailRetryDelayMs(attempts), text),
    )
  }

  return async (dueRow: store.MailRow): Promise<boolean> => {
    const row = await claim(dueRow)
    if (!row) return false
    const { id, kind, payload } = row
    try {
      const template = kind === 'plain' ? plain : templates[kind]
      if (!template) throw new Error(`this release has no template for ${kind}`)
      const mail = await db.write((tx) => template(tx, JSON.parse(payload), clock.now()))
      if (mail) {
        const message = { id, from, ...mail }
        checkMessage(message)
        await sendInTime(transport.send(message))
        count('sent')
      }
      await db.write((tx) => store.deleteMail(tx, id))
      return mail !== undefined
    } catch (error) {
      await recordFailure(row, error)
      return false
    }
  }
}

export function createMailer(deps: MailerDeps): Mailer {
  const { db, clock, log, outbox } = deps
  const figures = { sent: 0, retried: 0, failed: 0 }
  const sendOne = createSender(deps, (outcome) => void figures[outcome]++)
  let isStopped = false
  const sendDue = async (): Promise<number> => {
    let sent = 0
    while (!isStopped) {
      const rows = await store.listDueMail(db, clock.now(), CONCURRENT_MAX)
      if (rows.length === 0) break
      const results = await Promise.all(rows.map(sendOne))
      sent += results.filter(Boolean).length
    }
    return sent
  }

  let stopLoop: (() => Promise<void>) | undefined
  /** When the next mail is due, as of the last poll. The first look is at the start. */
  let nextDueAt = Number.NEGATIVE_INFINITY
  return {
    sendDue,
    figures: () => ({ ...figures }),
    polled: [
      {
        select: () => store.selectNextDue,
        receive(dueAt) {
          nextDueAt = dueAt === null ? Number.POSITIVE_INFINITY : Number(dueAt)
        },
      },
    ],
    start() {
      isStopped = false
      stopLoop ??= startInterval({
        intervalMs: CHECK_INTERVAL_MS,
        log,
        failure: 'sending mail failed',
        async run() {
          // Takes the signal also if mail is due anyway.
          const isSignaled = outbox.takeSignal()
          if (!isSignaled && nextDueAt > clock.now()) return
          nextDueAt = Number.POSITIVE_INFINITY
          await sendDue()
        },
      })
    },
    async stop() {
      isStopped = true
      const timer = new AbortController()
      const limit = delay(STOP_WAIT_MS, undefined, { signal: timer.signal }).catch(() => {})
      await Promise.race([stopLoop?.(), limit])
      timer.abort()
      stopLoop = undefined
    },
    chores: {
      mail: () => db.write((tx) => store.purgeFailedMail(tx, clock.now()), { single: true }),
    },
  }
}
