/**
 * Whether the server of PostgreSQL, the role and the database have connections left, as the polls
 * of the node read it. While one has none, a node that starts cannot store why it waits: those that
 * run name the reason.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  describeFullServer,
  parseServerConnections,
  type ServerConnections,
  selectServerConnections,
  summarizeFullServer,
} from '../../platform/storage/server-connections.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'
import { createLastingStates, type Lasting } from './lasting-state.ts'

export interface FullServer {
  readonly polled: readonly PolledValue[]
  /** Returns the connections of a full server; undefined if some are left. */
  current(): Lasting<ServerConnections> | undefined
  /** A warning for `/readyz`; operators read which program has the connections. */
  readonly warning: HealthCheck
  readonly metric: Metric
}

interface FullServerOptions {
  readonly db: Pick<Database, 'name'>
  readonly clock: Pick<Clock, 'now' | 'elapsedMs'>
  readonly log: Log
}

export function createFullServer({ db, clock, log }: FullServerOptions): FullServer {
  let last: ServerConnections | undefined
  const states = createLastingStates<ServerConnections>(clock)
  const current = () => states.list()[0]
  const select = selectServerConnections(db)
  const receive: PolledValue['receive'] = (value) => {
    last = parseServerConnections(value)
    if (last.used < last.limit || !states.meet(last.of, last)) return
    log.warn({ connections: last }, describeFullServer(last))
  }
  return {
    polled: select ? [{ select: () => select, receive }] : [],
    current,
    warning() {
      const state = current()
      if (!state) return undefined
      return { message: summarizeFullServer(state), detail: describeFullServer(state) }
    },
    metric: {
      name: 'gatehook_database_connections_left',
      help: 'Connections that PostgreSQL had left for further clients of the role of the node.',
      type: 'gauge',
      read: () => (last ? [{ value: Math.max(0, last.limit - last.used) }] : []),
    },
  }
}
