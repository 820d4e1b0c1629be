/**
 * TLS handshakes begin when the first bytes of their connection are there, in the turns of their
 * addresses (§11.5). A handshake is a millisecond of work before any limit, and a recorded
 * ClientHello costs its sender nothing.
 */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { TakeAddressTurn } from './address-turns.ts'
import { createHandshakeLimit, type HandshakeLimit } from './handshake-limit.ts'

interface WaitingSocket extends Pick<Socket, 'remoteAddress' | 'remotePort' | 'destroyed'> {
  destroy(): unknown
  setTimeout(ms: number, onSilence?: () => void): unknown
  once(event: 'readable' | 'error' | 'close', listener: () => void): unknown
}

interface HandshakeOptions {
  /** How long a connection may send nothing, or wait. */
  readonly timeoutMs: number
  readonly limit: HandshakeLimit
  readonly takeTurn: TakeAddressTurn
}

/**
 * Returns what a server does with a new connection.
 *
 * @param begin begins the handshake of a connection, whose first bytes it reads
 */
export function createHandshakeTurns<S extends WaitingSocket>(
  begin: (socket: S) => void,
  { timeoutMs, limit, takeTurn }: HandshakeOptions,
): (socket: S) => void {
  const beginIfOpen = (socket: S) => {
    if (socket.destroyed) return
    socket.setTimeout(0)
    begin(socket)
  }
  return (socket) => {
    if (socket.destroyed) return
    const { remoteAddress, remotePort } = socket
    const peer = { remoteAddress, remotePort }
    const enter = () => {
      if (socket.destroyed) return false
      socket.once('close', () => limit.end(peer))
      takeTurn(
        () => remoteAddress ?? '',
        () => beginIfOpen(socket),
      )
      return true
    }
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.once('error', () => socket.destroy())
    socket.once('readable', () => limit.enter(peer, enter, () => socket.destroy()))
  }
}

interface ServerHandshakes extends Pick<HandshakeOptions, 'timeoutMs' | 'takeTurn'> {
  /** The trusted proxies, which connect for all clients. */
  readonly proxies?: readonly string[] | undefined
}

/** Makes the handshakes of a server take turns. To be called before it listens. */
export function takeHandshakeTurns(server: Server, options: ServerHandshakes): void {
  // The listener of Node, which wraps a connection, is the first one.
  const handshake = server.listeners('connection')[0] as (this: Server, socket: Socket) => void
  server.removeListener('connection', handshake)
  const limit = createHandshakeLimit(options.proxies)
  server.on('connection', createHandshakeTurns(handshake.bind(server), { ...options, limit }))
  server.on('secureConnection', (socket: TLSSocket) => limit.end(socket))
}
