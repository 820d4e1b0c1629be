/**
 * Sends requests to the upstreams of a service (§17.5) within bounds on connections and memory. An
 * operator configures their addresses, so that private ones are allowed.
 */
import { Budget, type BudgetOwner } from '../../kernel/budget.ts'
import { createGroupPlaces } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ANSWER_BYTES_MAX } from '../../protocol/http/answer-budget.ts'
import { createConnectionPool } from './connection-pool.ts'
import type { ClientConnection } from './post-exchange.ts'
import { createTrustedConnector, openConnection } from './transport.ts'
import {
  UpstreamExchange,
  type UpstreamOutcome,
  type UpstreamRequest,
} from './upstream-exchange.ts'

export const UPSTREAM_LIMITS = {
  /** Requests in flight to an origin, each on its connection. */
  requests: 256,
  /** Those of a customer and mode. */
  requestsOfOwner: 64,
  bodyBytes: ANSWER_BYTES_MAX,
  headerBytes: 16 * 1024,
  headerCount: 100,
  interimResponses: 16,
  responseBytes: Number.POSITIVE_INFINITY,
  // An operator chose the server, and its streams may be long.
  framingBytes: Number.POSITIVE_INFINITY,
  bodyPerFraming: 1,
  /** Shorter than servers keep idle connections: a POST on a closed one fails. */
  idleMs: 3_000,
  maxIdle: 256,
  maxIdlePerOrigin: 64,
  pauseMs: 60_000,
} as const

const MIB = 1_048_576
/** The bytes of responses that arrive. */
const SHARES = {
  process: 64 * MIB,
  group: 32 * MIB,
  caller: 16 * MIB,
  small: 2 * MIB,
  stalledMs: 1_000,
}

export interface Upstreams {
  /** Always resolves. An aborted `signal` ends the exchange and its connection. */
  send(request: UpstreamRequest, owner: BudgetOwner, signal?: AbortSignal): Promise<UpstreamOutcome>
  close(): void
}

const OVERLOADED = { kind: 'failed', reason: 'overloaded', isSent: false, hasBegun: false } as const
const ABORTED = { kind: 'failed', reason: 'aborted', isSent: false, hasBegun: false } as const

export function createUpstreams(clock: Pick<Clock, 'elapsedMs'>): Upstreams {
  const connect = createTrustedConnector()
  const budget = new Budget(SHARES, clock)
  const places = new Map<string, ReturnType<typeof createGroupPlaces>>()
  const pool = createConnectionPool<ClientConnection>(
    (origin) => openConnection(origin, UPSTREAM_LIMITS, connect, (ended) => pool.onEnded(ended)),
    UPSTREAM_LIMITS,
  )
  const placesOf = (origin: string) => {
    const existing = places.get(origin)
    if (existing) return existing
    const { requests: total, requestsOfOwner: ofGroup } = UPSTREAM_LIMITS
    const created = createGroupPlaces({ total, ofGroup })
    places.set(origin, created)
    return created
  }
  return {
    send(request, owner, signal) {
      if (signal?.aborted) return Promise.resolve(ABORTED)
      const leave = placesOf(request.origin)(owner.group)
      if (!leave) return Promise.resolve(OVERLOADED)
      return new Promise((settle) => {
        const connection = pool.acquire(request.origin)
        const abort = () => exchange.fail('aborted')
        const hold = budget.hold(owner, () => exchange.fail('overloaded'))
        const release = (isReusable: boolean) => {
          signal?.removeEventListener('abort', abort)
          hold.release()
          leave()
          if (isReusable) pool.release(connection)
          else pool.drop(connection)
        }
        const exchange = new UpstreamExchange(request, {
          connection,
          limits: UPSTREAM_LIMITS,
          hold,
          release,
          settle,
        })
        signal?.addEventListener('abort', abort)
      })
    },
    close: () => pool.close(),
  }
}
