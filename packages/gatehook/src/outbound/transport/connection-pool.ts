/**
 * A pool of connections to receivers, bounded in total and per origin. A connection carries one
 * request at a time and is either in use or idle. The pool has no queue: the delivery engine limits
 * concurrency, and a queue per origin would let one customer's slow receiver delay another's behind
 * the same host (§9.8).
 *
 * Node's `http.Agent` would do the same, but its client takes twice the CPU time per request.
 * `undici.Pool` does not reveal whether a request was sent on a reused connection, and only such a
 * request may be resent.
 */

export interface PooledConnection {
  readonly origin: string
  destroy(): void
}

interface ConnectionPool<C extends PooledConnection> {
  /** Returns the idle connection used last, which is the least likely to be stale, or a new one. */
  acquire(origin: string): C
  /** Returns a new connection, even if others are idle. */
  open(origin: string): C
  release(connection: C): void
  /** Closes a connection, in use or idle. Further calls have no effect. */
  drop(connection: C): void
  /** Reports that a connection ended: closes it if it is idle. */
  onEnded(connection: C): void
  /** All connections, in use or idle. */
  readonly size: number
  readonly idle: number
  close(): void
}

interface ConnectionPoolLimits {
  readonly maxIdle: number
  readonly maxIdlePerOrigin: number
}

export function createConnectionPool<C extends PooledConnection>(
  connect: (origin: string) => C,
  { maxIdle, maxIdlePerOrigin }: ConnectionPoolLimits,
): ConnectionPool<C> {
  const all = new Set<C>()
  /** In the order of their release. */
  const idle = new Set<C>()
  const idleByOrigin = new Map<string, C[]>()

  const open = (origin: string): C => {
    const connection = connect(origin)
    all.add(connection)
    return connection
  }

  const removeIdle = (connection: C): void => {
    if (!idle.delete(connection)) return
    const connections = idleByOrigin.get(connection.origin)!
    connections.splice(connections.lastIndexOf(connection), 1) // usually the last one
    if (connections.length === 0) idleByOrigin.delete(connection.origin)
  }

  const drop = (connection: C): void => {
    removeIdle(connection)
    if (all.delete(connection)) connection.destroy()
  }

  return {
    open,
    drop,
    onEnded(connection) {
      if (idle.has(connection)) drop(connection)
    },
    acquire(origin) {
      const connection = idleByOrigin.get(origin)?.at(-1)
      if (!connection) return open(origin)
      removeIdle(connection)
      return connection
    },
    release(connection) {
      if (!all.has(connection)) return
      const connections = idleByOrigin.get(connection.origin) ?? []
      if (connections.length >= maxIdlePerOrigin) return drop(connection)
      connections.push(connection)
      idleByOrigin.set(connection.origin, connections)
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
