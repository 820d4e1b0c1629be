/**
 * Notices a server that does not answer: it is frozen, or the network loses its packets (§18.1). A
 * slow statement is no silence, because the server answers the probe of the watch meanwhile. A
 * connection that opens is no answer: a pooler before a frozen server opens it by itself. Ends
 * connections that hang while the server answers the probe (`followed-connection.ts`).
 */
import {
  FollowedConnection,
  FollowedConnections,
  type LostSession,
  type ServerAnswer,
  SLOW_TICKS,
  TICK_MS,
  type WatchedConnection,
} from './followed-connection.ts'
import { isConnectionLost } from './postgres-errors.ts'

/** Ticks without an answer before the watch probes. */
const PROBE_TICKS = 2
/** Ticks without an answer after which the server is silent: 2 s. */
export const SILENT_TICKS = 8
/** Ticks between two probes of a silent server, or for slow requests: 1 s. */
const RETRY_TICKS = 4

/** The time that connections have to end after `stop`. */
const END_MS = 1_000

export interface ServerWatch {
  /**
   * Follows the requests and answers of a new connection. `isLimited`: `statement_timeout` limits
   * its statements.
   */
  follow(connection: WatchedConnection, isLimited: boolean): FollowedConnection
  isSilent(): boolean
  /** Whether bytes have arrived within 2 s, also on a connection that opens. */
  isHeard(): boolean
  /** Whether requests hang, and no open connection has an answer. */
  isHanging(): boolean
  /** Whether a pooler, which answers others, served a connection for a second not, just now. */
  isStarved(): boolean
  /** Whether a connection is open, as far as the process knows. */
  hasOpen(): boolean
  /** Ends the watch; connections that have not ended a second later break. */
  stop(): void
}

interface WatchOptions {
  /** Whether a pooler opens the connections. */
  readonly isPooled: boolean
  /**
   * Opens a connection and queries it about these processes. Resolves with undefined if the server
   * did not answer in time.
   */
  readonly probe: (processIds: readonly number[]) => Promise<ServerAnswer | undefined>
  /** Ends sessions at the server, which keep the locks of their transactions. Never throws. */
  readonly endSessions: (lost: readonly LostSession[]) => void
  readonly onSilent: () => void
  /** Called when connections were ended that hung: others may hang, too. */
  readonly onHung: (count: number) => void
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
  const { isPooled, probe, endSessions, onSilent, onHung, onReturn, onAnswer, onError } = options
  const followed = new FollowedConnections()
  let hasAnswered = false
  let silentTicks = 0
  /** Ticks since the last answer on an open connection, and since the last probe. */
  let unheardTicks = 0
  let unprobedTicks = 0
  let isSilent = false
  let isProbing = false
  let timer: NodeJS.Timeout | undefined
  const runProbe = async () => {
    isProbing = true
    unprobedTicks = 0
    const slow = followed.listSlow()
    const answer = await probe(slow.flatMap(({ processId }) => processId ?? []))
    isProbing = false
    if (!answer) return
    hasAnswered = true
    const { count, lost } = followed.cutHung(slow, answer)
    if (count > 0) onHung(count)
    if (lost.length > 0) endSessions(lost)
  }
  const stopTicks = () => {
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
    followed.cutAll()
  }
  /** Whether to probe: for a silent server, or for slow requests. */
  const isProbeDue = () => {
    const probesAt = isSilent ? RETRY_TICKS : PROBE_TICKS
    if (silentTicks > 0 && silentTicks % probesAt === 0) return true
    return unprobedTicks >= RETRY_TICKS && followed.listSlow().length > 0
  }
  const tick = () => {
    // A part of a long answer. A pooler reports by itself that its server is away.
    if (followed.tick(unheardTicks < SLOW_TICKS) && !isPooled) hasAnswered = true
    silentTicks = hasAnswered ? 0 : silentTicks + 1
    unheardTicks++
    unprobedTicks++
    if (hasAnswered && isSilent) {
      isSilent = false
      onReturn()
    }
    hasAnswered = false
    if (!followed.hasPending && !isSilent) return stopTicks()
    if (!isProbing && isProbeDue()) void runProbe()
    if (silentTicks === SILENT_TICKS && !isSilent) becomeSilent()
    wait()
  }
  const begin = () => {
    if (timer) return
    silentTicks = unheardTicks = 0
    unprobedTicks = RETRY_TICKS
    hasAnswered = false
    wait()
  }
  const hear = () => {
    hasAnswered = true
    unheardTicks = 0
    onAnswer()
  }
  return {
    isSilent: () => isSilent,
    isHeard: () => followed.isHeard,
    isHanging: () => unheardTicks >= SLOW_TICKS && followed.hasSuspect,
    isStarved: () => followed.areStarved,
    hasOpen: () => followed.hasOpen,
    stop() {
      stopTicks()
      setTimeout(() => followed.cutAll(), END_MS).unref()
    },
    follow(connection, isLimited) {
      const own = new FollowedConnection(connection, isPooled, isLimited)
      const onOpening = () => followed.add(own)
      hookRequests(connection, own, { refuses: () => isSilent, onOpening, onRequest: begin })
      hookAnswers(connection, own, { onAnswer: hear, onError })
      connection.on('end', () => followed.delete(own))
      return own
    },
  }
}

function hookAnswers(
  connection: WatchedConnection,
  own: FollowedConnection,
  { onAnswer, onError }: Pick<WatchOptions, 'onAnswer' | 'onError'>,
): void {
  connection.on('errorMessage', (error) => {
    if (!own.isOpen) return
    if (isConnectionLost(error)) onError(error)
    else onAnswer()
  })
  connection.on('readyForQuery', (message) => {
    if (own.isOpen) onAnswer()
    own.answer(message?.status)
  })
}

interface RequestHooks {
  /** Whether the connection must not open. */
  readonly refuses: () => boolean
  readonly onOpening: () => void
  /** Called for each message that the server answers with `readyForQuery`, or by closing. */
  readonly onRequest: () => void
}

function hookRequests(
  connection: WatchedConnection,
  own: FollowedConnection,
  hooks: RequestHooks,
): void {
  const { connect, query, parse, bind, sync, end } = connection
  let isOpening = false
  Object.assign(connection, {
    connect(port: number | string, host?: string) {
      if (hooks.refuses()) {
        process.nextTick(() => connection.emit('error', new SilentServerError()))
        return
      }
      isOpening = true
      hooks.onOpening()
      own.open()
      hooks.onRequest()
      connect.call(connection, port, host)
    },
    query(text: string) {
      own.add(text)
      hooks.onRequest()
      query.call(connection, text)
    },
    parse(statement: { readonly text: string }) {
      own.noteText(statement.text)
      parse.call(connection, statement)
    },
    bind(config: { readonly statement?: string }, ...more: unknown[]) {
      own.noteText(connection.parsedStatements[config.statement ?? ''])
      bind.call(connection, config, ...more)
    },
    sync() {
      own.add()
      hooks.onRequest()
      sync.call(connection)
    },
    end() {
      if (isOpening) {
        own.addEnd()
        hooks.onRequest()
      }
      end.call(connection)
    },
  })
}
