/**
 * TLS handshakes begin when the first bytes of their connection are there, in the turns of their
 * addresses (§11.5). A handshake is a millisecond of work before any limit, and a recorded
 * ClientHello costs its sender nothing.
 */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TakeAddressTurn } from './address-turns.ts'

interface WaitingSocket extends Pick<Socket, 'remoteAddress' | 'destroyed'> {
  destroy(): unknown
  setTimeout(ms: number, onSilence?: () => void): unknown
  once(event: 'readable' | 'error', listener: () => void): unknown
}

/**
 * Returns what a server does with a new connection.
 *
 * @param begin begins the handshake of a connection, whose first bytes it reads
 * @param timeoutMs how long a connection may send nothing
 */
export function createHandshakeTurns<S extends WaitingSocket>(
  begin: (socket: S) => void,
  timeoutMs: number,
  takeTurn: TakeAddressTurn,
): (socket: S) => void {
  const beginIfOpen = (socket: S) => {
    if (socket.destroyed) return
    socket.setTimeout(0)
    begin(socket)
  }
  return (socket) => {
    if (socket.destroyed) return
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.once('error', () => socket.destroy())
    socket.once('readable', () =>
      takeTurn(
        () => socket.remoteAddress ?? '',
        () => beginIfOpen(socket),
      ),
    )
  }
}

/** Makes the handshakes of a server take turns. To be called before it listens. */
export function takeHandshakeTurns(
  server: Server,
  timeoutMs: number,
  takeTurn: TakeAddressTurn,
): void {
  // The listener of Node, which wraps a connection, is the first one.
  const handshake = server.listeners('connection')[0] as (this: Server, socket: Socket) => void
  server.removeListener('connection', handshake)
  server.on('connection', createHandshakeTurns(handshake.bind(server), timeoutMs, takeTurn))
}
