/**
 * Connections kept for the next attempt, per origin and bounded. A connection carries one request
 * at a time and is either lent or idle; there is no queue here, because how many attempts run at
 * once is the engine's to say, and a queue per origin would let one customer's slow receiver delay
 * another's behind the same host (§9.8). Only bookkeeping: what a connection is, its maker knows.
 */

export interface Connection {
  readonly origin: string
  destroy(): void
}

export interface KeptConnections<C extends Connection> {
  /** One that waits, the last used first: it is the least likely to be stale. Else a new one. */
  take(origin: string): C
  /** A new one, whatever waits. */
  open(origin: string): C
  /** It may be used again. */
  giveBack(connection: C): void
  /** It must not: closes it. For idle and lent ones, and any number of times. */
  drop(connection: C): void
  /** It ended by itself: an idle one is closed, of a lent one its borrower learns. */
  lost(connection: C): void
  /** Lent and idle ones. */
  readonly size: number
  readonly idle: number
  /** Closes all, the lent ones too. */
  close(): void
}

export interface KeepAliveLimits {
  readonly maxIdle: number
  readonly maxIdlePerOrigin: number
}

export function keepConnections<C extends Connection>(
  make: (origin: string) => C,
  { maxIdle, maxIdlePerOrigin }: KeepAliveLimits,
): KeptConnections<C> {
  const all = new Set<C>()
  /** In the order in which they were given back. */
  const idle = new Set<C>()
  const byOrigin = new Map<string, C[]>()

  const open = (origin: string): C => {
    const connection = make(origin)
    all.add(connection)
    return connection
  }

  const forget = (connection: C): void => {
    if (!idle.delete(connection)) return
    const waiting = byOrigin.get(connection.origin)!
    waiting.splice(waiting.lastIndexOf(connection), 1) // mostly the last one: it is taken
    if (waiting.length === 0) byOrigin.delete(connection.origin)
  }

  const drop = (connection: C): void => {
    forget(connection)
    if (all.delete(connection)) connection.destroy()
  }

  return {
    open,
    drop,
    lost(connection) {
      if (idle.has(connection)) drop(connection)
    },
    take(origin) {
      const connection = byOrigin.get(origin)?.at(-1)
      if (!connection) return open(origin)
      forget(connection)
      return connection
    },
    giveBack(connection) {
      if (!all.has(connection)) return
      const waiting = byOrigin.get(connection.origin) ?? []
      if (waiting.length >= maxIdlePerOrigin) return drop(connection)
      waiting.push(connection)
      byOrigin.set(connection.origin, waiting)
      idle.add(connection)
      if (idle.size > maxIdle) drop(idle.values().next().value!)
    },
    get size() {
      return all.size
    },
    get idle() {
      return idle.size
    },
    close() {
      for (const connection of [...all]) drop(connection)
    },
  }
}
