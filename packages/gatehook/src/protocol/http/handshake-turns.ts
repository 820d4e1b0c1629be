/**
 * The turns of TLS handshakes (§11.4). A handshake is a millisecond of work before any limit, and
 * a recorded ClientHello costs its sender nothing. So a connection begins its handshake when its
 * first bytes are there, a few of them in one turn of the event loop, and addresses take turns.
 */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { addressBlock } from '../../kernel/address.ts'

/** Handshakes that begin in one turn of the event loop. */
const PER_TURN_MAX = 4

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
 * @param afterTurn calls a function after the event loop has run other requests
 */
export function createHandshakeTurns<S extends WaitingSocket>(
  begin: (socket: S) => void,
  timeoutMs: number,
  afterTurn: (next: () => void) => void = setImmediate,
): (socket: S) => void {
  /** The address blocks in the order of their turns. */
  const waiting = new Map<string, S[]>()
  const beginSome = (): void => {
    for (let begun = 0; begun < PER_TURN_MAX && waiting.size > 0; ) {
      const [block, line] = waiting.entries().next().value!
      const socket = line.shift()!
      waiting.delete(block)
      if (line.length > 0) waiting.set(block, line)
      if (socket.destroyed) continue
      socket.setTimeout(0)
      begin(socket)
      begun += 1
    }
    if (waiting.size > 0) afterTurn(beginSome)
  }
  const enter = (socket: S): void => {
    const block = addressBlock(socket.remoteAddress ?? '')
    const line = waiting.get(block)
    if (line) return void line.push(socket)
    if (waiting.size === 0) afterTurn(beginSome)
    waiting.set(block, [socket])
  }
  return (socket) => {
    if (socket.destroyed) return
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.once('error', () => socket.destroy())
    socket.once('readable', () => enter(socket))
  }
}

/** Makes the handshakes of a server take turns. To be called before it listens. */
export function takeHandshakeTurns(server: Server, timeoutMs: number): void {
  // The listener of Node, which wraps a connection, is the first one.
  const handshake = server.listeners('connection')[0] as (this: Server, socket: Socket) => void
  server.removeListener('connection', handshake)
  server.on('connection', createHandshakeTurns(handshake.bind(server), timeoutMs))
}
