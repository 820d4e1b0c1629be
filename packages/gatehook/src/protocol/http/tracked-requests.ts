/**
 * Counts the requests in flight, and serves those of a connection one after the other (§11.4): a
 * sender of many pipelined requests gets no more work at a time than one that waits for responses.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TakeAddressTurn } from './address-turns.ts'
import type { ConnectionLimit } from './connection-limit.ts'
import { createChunkMerger } from './small-chunks.ts'

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Requests of one connection that have no response yet; a further one ends it after these. */
const OPEN_MAX = 8
/** Requests of all connections that wait for an earlier one; further ones end their connections. */
const WAITING_MAX = 1_024

interface TrackedConnection {
  /** Requests without a response. */
  open: number
  /** Those that wait for an earlier one. */
  waiting: number
  latest: ServerResponse
  /** Whether the connection ends after its open responses. */
  isEnding: boolean
}

const CONNECTION = Symbol('connection')
type TrackedSocket = Socket & {
  [CONNECTION]?: TrackedConnection
  /** Node's parser, which stops in the middle of a buffer only if it is paused as well. */
  readonly parser?: { pause(): void } | null
}

/** Returns the response of the latest request on a connection. */
export const latestResponse = (socket: Socket): ServerResponse | undefined =>
  (socket as TrackedSocket)[CONNECTION]?.latest

/** Whether a further request of the connection waits for this one. */
export const isFollowed = ({ socket }: IncomingMessage): boolean =>
  ((socket as TrackedSocket | undefined)?.[CONNECTION]?.waiting ?? 0) > 0

const closesConnection = ({ headersSent, shouldKeepAlive }: ServerResponse): boolean =>
  headersSent && !shouldKeepAlive

/** Whether all earlier responses of the connection are sent: Node gives it the socket then. */
const isNext = ({ socket }: ServerResponse): boolean => socket !== null

function countRequests() {
  let inFlight = 0
  let whenIdle: (() => void) | undefined
  return {
    add: () => void inFlight++,
    end(count: number): void {
      inFlight -= count
      if (count > 0 && inFlight === 0) whenIdle?.()
    },
    /** Resolves with whether all requests have ended within the time limit. */
    async waitForIdle(limitMs: number): Promise<boolean> {
      if (inFlight === 0) return true
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs)
        whenIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      return inFlight === 0
    },
  }
}

interface Tracking {
  readonly listener: Listener
  readonly connections: ConnectionLimit
  readonly takeTurn: TakeAddressTurn
  /** Returns the address of the client, behind trusted proxies as well. */
  readonly addressOf: (request: IncomingMessage) => string
}

/** A request whose client has left while it waited for its turn is over. */
const listenInTurns =
  ({ listener, takeTurn, addressOf }: Tracking): Listener =>
  (request, response) =>
    takeTurn(
      () => addressOf(request),
      () => {
        if (!response.destroyed) listener(request, response)
      },
    )

type ServeNext = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * Returns the function that serves the next request of a connection, after the earlier ones. It
 * returns false if it ignores the request, whose connection ends.
 */
function serveConnections(
  listener: Listener,
  inFlight: ReturnType<typeof countRequests>,
  mergeChunks: Listener,
): ServeNext {
  let waitingCount = 0
  const release = (connection: TrackedConnection, count: number) => {
    connection.open -= count
    inFlight.end(count)
  }
  /** Discards the requests of a connection that has ended. */
  const abandon = (connection: TrackedConnection) => {
    waitingCount -= connection.waiting
    connection.waiting = 0
    release(connection, connection.open)
  }
  const open = (socket: TrackedSocket, latest: ServerResponse): TrackedConnection => {
    const connection = { open: 0, waiting: 0, latest, isEnding: false }
    socket[CONNECTION] = connection
    socket.once('close', () => abandon(connection))
    return connection
  }
  /**
   * Returns whether the next request of a connection is ignored: an earlier response closes it
   * (RFC 9112 §9.6), or too many are open. A full buffer has thousands of pipelined requests, which
   * node would parse in one turn: the server reads no further one.
   */
  const ignoresNext = (socket: TrackedSocket, connection: TrackedConnection): boolean => {
    const isFull = connection.open > 0 && waitingCount >= WAITING_MAX
    if (isFull || connection.open >= OPEN_MAX) connection.isEnding = true
    if (!connection.isEnding && !closesConnection(connection.latest)) return false
    socket.pause()
    socket.parser?.pause()
    return true
  }
  function onClose(this: ServerResponse) {
    const socket: TrackedSocket = this.req.socket
    const connection = socket[CONNECTION]!
    if (connection.open === 0) return // the connection has ended
    release(connection, 1)
    if (closesConnection(this)) return void abandon(connection)
    if (connection.isEnding && connection.open === 0) socket.destroySoon()
  }
  return (request, response) => {
    const socket: TrackedSocket = request.socket
    const connection = socket[CONNECTION] ?? open(socket, response)
    if (ignoresNext(socket, connection)) return false
    mergeChunks(request, response)
    inFlight.add()
    connection.open++
    connection.latest = response
    response.on('close', onClose)
    if (connection.open === 1 || isNext(response)) {
      listener(request, response)
      return true
    }
    connection.waiting++
    waitingCount++
    response.once('socket', () => {
      if (connection.waiting === 0) return // the connection has ended
      connection.waiting--
      waitingCount--
      listener(request, response)
    })
    return true
  }
}

/** Passes requests to the listener in the turns of their addresses, and counts those in flight. */
export function trackRequests(server: Server, tracking: Tracking) {
  const { connections } = tracking
  const listener = listenInTurns(tracking)
  const inFlight = countRequests()
  const serveNext = serveConnections(listener, inFlight, createChunkMerger(tracking.addressOf))
  const onRequest: Listener = (request, response) => void serveNext(request, response)
  server.on('request', onRequest)
  // `receive-body.ts` sends `100 Continue` before it reads the body; other expectations are a 400.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  // Node can close HTTP connections, but not those in a TLS handshake or after CONNECT.
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    const end = connections.open(socket.remoteAddress ?? '')
    if (!end) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      end()
    })
  })
  return {
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    /**
     * Serves a request on a connection that this server does not own, within the same bounds. The
     * program may pass the requests of a connection in another order. HTTP/2 pipelines none.
     */
    adopt(request: IncomingMessage, response: ServerResponse) {
      if (response.destroyed) return
      if (request.httpVersionMajor > 1) {
        inFlight.add()
        response.once('close', () => inFlight.end(1))
        listener(request, response)
      } else if (!serveNext(request, response) && isNext(response)) {
        request.socket.destroySoon() // the responses after this one cannot be sent
      }
    },
    waitForIdle: inFlight.waitForIdle,
  }
}
