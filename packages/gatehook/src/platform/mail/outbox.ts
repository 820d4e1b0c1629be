/**
 * Enqueues mail in the transaction of the change that causes it. A kind of mail has a template,
 * which `mailer.ts` runs when the mail is sent.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import * as store from './store.ts'

/** Mail that waits at a time; beyond it, requests of strangers get 503. */
const WAITING_MAX = 10_000
/** The size of a payload in characters. */
const MAIL_PAYLOAD_MAX = 16_384

export interface MailOutbox {
  /** Enqueues a mail, which is sent after the commit. `payload` contains no secret. */
  enqueue(tx: Tx, kind: string, payload: object): Promise<void>
  /** Enqueues the mail of a stranger's request. Throws `overloaded` if too much mail waits. */
  enqueueBounded(tx: Tx, kind: string, payload: object): Promise<void>
  /** Returns whether mail was enqueued by this process since the previous call. */
  takeSignal(): boolean
}

export function createMailOutbox({
  clock,
  random,
}: {
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
}): MailOutbox {
  let hasNewMail = false
  const outbox: MailOutbox = {
    async enqueue(tx, kind, payload) {
      const text = JSON.stringify(payload)
      if (text.length > MAIL_PAYLOAD_MAX) throw new Failure('payload_too_large')
      const nowMs = clock.now()
      const id = createTimeOrderedId('mail_', nowMs, random)
      await store.insertMail(tx, { id, kind, payload: text }, nowMs)
      tx.afterCommit(() => {
        hasNewMail = true
      })
    },
    async enqueueBounded(tx, kind, payload) {
      const waiting = await store.countMail(tx, 'waiting', WAITING_MAX)
      if (waiting >= WAITING_MAX) {
        throw new Failure('overloaded', undefined, { headers: { 'retry-after': '60' } })
      }
      await outbox.enqueue(tx, kind, payload)
    },
    takeSignal() {
      const signal = hasNewMail
      hasNewMail = false
      return signal
    },
  }
  return outbox
}
