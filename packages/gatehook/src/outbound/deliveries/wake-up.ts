/** The messages that wake the engines of this node and of the others. Pure. */
import type { LoadedDelivery } from './ports.ts'

/** The channel on which nodes notify each other of deliveries. */
export const CHANNEL = 'gatehook_deliveries'

/** A delivery that a caller resends: an open circuit breaker does not delay its next attempt. */
export interface ResendRequest {
  readonly webhookNo: number
  /** `dlv_…` */
  readonly delivery: string
}

/** A delivery that a transaction of this node has committed, for the engine of this node. */
export interface CommittedDelivery {
  readonly webhookNo: number
  /** The revision of the registration in the transaction. */
  readonly revision: number
  readonly dueAt: number
  readonly due: LoadedDelivery
}

/**
 * Wakes the engine for registrations, by number, that have new deliveries or changed; passes
 * deliveries to it that it can send without a read.
 */
export type WakeDeliveries = (
  webhookNos: readonly number[],
  resends?: readonly ResendRequest[],
  committed?: readonly CommittedDelivery[],
) => void

export interface WakeUp {
  readonly webhookNos: readonly number[]
  readonly resends: readonly ResendRequest[]
  /** Never part of a message to other nodes. */
  readonly committed?: readonly CommittedDelivery[] | undefined
  /** The engine that sent the message, in letters and digits; undefined: the sender has none. */
  readonly from?: string | undefined
}

/** Numbers in one message to other nodes; those nodes find further ones by their scan. */
const NUMBERS_MAX = 500
/** Resends in one message; further ones wait for the breaker. */
const RESENDS_MAX = 32

/** Encodes a wake-up for `CHANNEL`. */
export function encodeWakeUp({ webhookNos, resends, from }: WakeUp): string {
  const pairs = resends
    .slice(0, RESENDS_MAX)
    .map(({ webhookNo, delivery }) => `${webhookNo}:${delivery}`)
  const sender = from === undefined ? [] : [`@${from}`]
  return [...webhookNos.slice(0, NUMBERS_MAX), ...pairs, ...sender].join(' ')
}

/** The message of `CHANNEL` after customers moved to another node, or became free. */
export const LEASES_CHANGED = 'leases'

/** The message of `CHANNEL` after a node that runs no jobs has stored one. */
export const JOBS_DUE = 'jobs'

/** The message of `CHANNEL` after a command has changed what the poll of nodes reads. */
export const STATE_CHANGED = 'state'

/** Decodes a message of `CHANNEL`; ignores other text. */
export function decodeWakeUp(message: string): WakeUp {
  const webhookNos: number[] = []
  const resends: ResendRequest[] = []
  let from: string | undefined
  for (const word of message.split(' ')) {
    if (word.startsWith('@')) from = word.slice(1)
    const [number, delivery] = word.split(':')
    const webhookNo = Number(number)
    if (!webhookNo) continue
    if (delivery === undefined) webhookNos.push(webhookNo)
    else if (delivery.startsWith('dlv_')) resends.push({ webhookNo, delivery })
  }
  return { webhookNos, resends, ...(from !== undefined && { from }) }
}
