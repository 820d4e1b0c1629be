/**
 * Notices a server that does not answer: it is frozen, or the network loses its packets (§18.1). A
 * slow statement is no silence, because the server answers the probe of the watch meanwhile. A
 * connection that opens is no answer: a pooler before a frozen server opens it by itself.
 */
import { isConnectionLost } from './postgres-errors.ts'

/** The watch counts ticks, in each of which the event loop runs: a busy process proves nothing. */
export const TICK_MS = 250
/** Ticks without an answer before the watch probes. */
const PROBE_TICKS = 2
/** Ticks without an answer after which the server is silent: 2 s. */
export const SILENT_TICKS = 8
/** Ticks between two probes of a silent server. */
const RETRY_TICKS = 4

/** The part of a connection of pg that the watch uses. */
export interface WatchedConnection {
  readonly stream: { destroy(): unknown }
  connect(port: number | string, host?: string): void
  query(text: string): void
  sync(): void
  end(): void
  on(event: 'readyForQuery' | 'end', listener: () => void): unknown
  on(event: 'errorMessage', listener: (error: unknown) => void): unknown
  emit(event: 'error', error: Error): unknown
}

export interface ServerWatch {
  /** Follows the requests and answers of a new connection. */
  follow(connection: WatchedConnection): void
  isSilent(): boolean
  /** Whether a connection is open, as far as the process knows. */
  hasOpen(): boolean
  /** Ends the watch; open connections stay open. */
  stop(): void
}

interface WatchOptions {
  /** Opens a connection and queries it. Resolves with whether the server answered in time. */
  readonly probe: () => Promise<boolean>
  readonly onSilent: () => void
  /** Called when a silent server answers a probe. */
  readonly onReturn: () => void
  /** Called for each answer on an open connection. */
  readonly onAnswer: () => void
  /** Called for each error that ends an open connection. */
  readonly onError: (error: unknown) => void
}

/** The server has not answered for 2 s. */
export class SilentServerError extends Error {
  override readonly name = 'SilentServerError'
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the server has not answered for 2 s')
  }
}

export function createServerWatch(options: WatchOptions): ServerWatch {
  const { probe, onSilent, onReturn, onAnswer, onError } = options
  const connections = new Set<WatchedConnection>()
  let openCount = 0
  /** Requests without an answer. */
  let pendingCount = 0
  let hasAnswered = false
  let silentTicks = 0
  let isSilent = false
  let isProbing = false
  let timer: NodeJS.Timeout | undefined
  const runProbe = async () => {
    isProbing = true
    hasAnswered = (await probe()) || hasAnswered
    isProbing = false
  }
  const stop = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const wait = () => {
    timer = setTimeout(tick, TICK_MS)
    timer.unref()
  }
  const becomeSilent = () => {
    isSilent = true
    onSilent()
    for (const { stream } of connections) stream.destroy()
  }
  const tick = () => {
    silentTicks = hasAnswered ? 0 : silentTicks + 1
    if (hasAnswered && isSilent) {
      isSilent = false
      onReturn()
    }
    hasAnswered = false
    if (pendingCount === 0 && !isSilent) return stop()
    const probesAt = isSilent ? RETRY_TICKS : PROBE_TICKS
    if (silentTicks % probesAt === 0 && silentTicks > 0 && !isProbing) void runProbe()
    if (silentTicks === SILENT_TICKS && !isSilent) becomeSilent()
    wait()
  }
  const begin = () => {
    if (timer) return
    silentTicks = 0
    hasAnswered = false
    wait()
  }
  return {
    isSilent: () => isSilent,
    hasOpen: () => openCount > 0,
    stop,
    follow(connection) {
      let pending = 0
      let isOpen = false
      const add = (count: number) => {
        pending += count
        pendingCount += count
        if (count > 0) begin()
      }
      const hear = () => {
        hasAnswered = true
        onAnswer()
      }
      countRequests(connection, {
        refuses: () => isSilent,
        onOpening: () => connections.add(connection),
        onRequest: () => add(1),
      })
      connection.on('errorMessage', (error) => {
        if (!isOpen) return
        if (isConnectionLost(error)) onError(error)
        else hear()
      })
      connection.on('readyForQuery', () => {
        if (isOpen) hear()
        else openCount++
        isOpen = true
        add(-1)
      })
      connection.on('end', () => {
        connections.delete(connection)
        if (isOpen) openCount--
        isOpen = false
        add(-pending)
      })
    },
  }
}

interface RequestHooks {
  /** Whether the connection must not open. */
  readonly refuses: () => boolean
  readonly onOpening: () => void
  /** Called for each message that the server answers with `readyForQuery`, or by closing. */
  readonly onRequest: () => void
}

function countRequests(connection: WatchedConnection, hooks: RequestHooks): void {
  const { connect, query, sync, end } = connection
  let isOpening = false
  Object.assign(connection, {
    connect(port: number | string, host?: string) {
      if (hooks.refuses()) {
        process.nextTick(() => connection.emit('error', new SilentServerError()))
        return
      }
      isOpening = true
      hooks.onOpening()
      hooks.onRequest()
      connect.call(connection, port, host)
    },
    query(text: string) {
      hooks.onRequest()
      query.call(connection, text)
    },
    sync() {
      hooks.onRequest()
      sync.call(connection)
    },
    end() {
      if (isOpening) hooks.onRequest()
      end.call(connection)
    },
  })
}
