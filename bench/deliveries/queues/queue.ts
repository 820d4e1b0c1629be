/** What a side of row 12 is, and what all queues deliver with: one transport, 20 connections. */

import { signedPost } from '../../../packages/gatehook/src/deliveries/signature.ts'
import { wallClock } from '../../../packages/gatehook/src/kernel/clock.ts'
import { scopeOf } from '../../../packages/gatehook/src/kernel/principal.ts'
import { createTransport } from '../../../packages/gatehook/src/transport/transport.ts'
import { body, SECRET } from '../common.ts'

/** POSTs under way at a time: as many as the engine has to one endpoint (§9.7). */
export const CONNECTIONS = 20

export const JOB = 'deliver'

/** What a queue keeps of a delivery: all that a POST of it needs. */
export interface Job {
  readonly no: number
  readonly body: string
}

export type Deliver = (job: Job) => Promise<void>

/** What waits is put in before it is measured; what it ran on is ended by who opened it. */
export interface Queue {
  /** Works off what waits, `deliver` by `deliver`; resolves when it works, not when it is done. */
  start(deliver: Deliver): Promise<void>
  /** Ends it once all results are written; gives how many jobs are not done. */
  stop(): Promise<number>
}

/** Puts so many deliveries in and has them wait. */
export type OpenQueue = (address: string, jobs: number) => Promise<Queue>

/** Jobs `from` up to and without `to`, at most `most` at a time. */
export function* batches(count: number, most: number): Generator<Job[]> {
  const text = body()
  for (let at = 0; at < count; at += most) {
    const length = Math.min(most, count - at)
    yield Array.from({ length }, (_, n) => ({ no: at + n + 1, body: text }))
  }
}

/**
 * The engine's transport and signatures. However many jobs a queue has under way, no more than 20
 * POSTs are: who has not sent yet waits in turn.
 */
export function delivering(receiver: string): { deliver: Deliver; close: () => void } {
  const transport = createTransport({ clock: wallClock, allowPrivate: true, timeoutMs: 15_000 })
  const post = signedPost(transport.send, 'bench')
  const health = { firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null }
  const registration = {
    ...{ no: 1, id: 'wh_1', scope: scopeOf(1, 'live'), customer: 1, sends: true, revision: 1 },
    ...{ url: receiver, secrets: [{ ...SECRET, expiresAt: null }] },
    ...{ rate: undefined, parkedUntil: null, ...health },
  }
  let open = 0
  const waiting: (() => void)[] = []
  const deliver: Deliver = async ({ no, body }) => {
    if (open === CONNECTIONS) await new Promise<void>((resolve) => waiting.push(resolve))
    else open += 1
    const ids = { no, id: `dlv_${no}`, eventId: `evt_${no}`, eventType: 'order.created' }
    const now = Date.now()
    const outcome = await post(
      registration,
      { ...ids, attempt: 0, createdAt: now, body },
      { n: 1, now },
    )
    const next = waiting.shift()
    if (next) next()
    else open -= 1
    if (outcome.kind !== 'answered') throw new Error(outcome.message)
  }
  return { deliver, close: transport.close }
}
