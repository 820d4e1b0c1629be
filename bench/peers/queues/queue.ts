/** The interface of a side of row 12, and the transport of all queues: 20 connections. */

import { wallClock } from '../../../packages/gatehook/src/kernel/clock.ts'
import { scopeOf } from '../../../packages/gatehook/src/kernel/principal.ts'
import { signedPost } from '../../../packages/gatehook/src/outbound/deliveries/signature.ts'
import { createTransport } from '../../../packages/gatehook/src/outbound/transport/transport.ts'
import { body, SECRET } from '../../deliveries/common.ts'

/** Concurrent POSTs: the engine's limit per endpoint (§9.7). */
export const CONNECTIONS = 20

export const JOB = 'deliver'

/** A delivery as a queue stores it. */
export interface Job {
  readonly no: number
  readonly body: string
}

export type Deliver = (job: Job) => Promise<void>

/** A queue with pending jobs. The caller stops its database. */
export interface Queue {
  /** Starts to process jobs with `deliver`; resolves when the workers have started. */
  start(deliver: Deliver): Promise<void>
  /** Writes all results, stops, and returns the number of unfinished jobs. */
  stop(): Promise<number>
}

/** Opens a queue with pending jobs. */
export type OpenQueue = (address: string, jobs: number) => Promise<Queue>

/** Yields `count` jobs in batches of at most `most`. */
export function* batches(count: number, most: number): Generator<Job[]> {
  const text = body()
  for (let at = 0; at < count; at += most) {
    const length = Math.min(most, count - at)
    yield Array.from({ length }, (_, n) => ({ no: at + n + 1, body: text }))
  }
}

/**
 * Returns a function that sends jobs with the engine's transport and signatures. At most 20 are in
 * flight; further jobs wait.
 */
export function delivering(receiver: string): { deliver: Deliver; close: () => void } {
  const transport = createTransport({ clock: wallClock, allowPrivate: true, timeoutMs: 15_000 })
  const post = signedPost(transport.send, 'bench')
  const health = { firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null }
  const registration = {
    no: 1,
    id: 'wh_1',
    scope: scopeOf(1, 'live'),
    customer: 1,
    sends: true,
    revision: 1,
    url: receiver,
    secrets: [{ ...SECRET, expiresAt: null }],
    rate: undefined,
    holdUntil: null,
    ...health,
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
