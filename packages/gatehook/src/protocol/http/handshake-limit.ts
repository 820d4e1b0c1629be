/**
 * Bounds the unfinished TLS handshakes of an address (§11.4). Thousands of connections may each
 * send a harmless first part, and then all at once the rest, which costs a millisecond each. So a
 * few are unfinished at a time, and further connections of their address wait.
 */
import type { Socket } from 'node:net'
import { addressBlock, createRangeMatcher, unmapAddress } from '../../kernel/address.ts'

/** Together at most 50 ms of work that an address can cause in one turn of the event loop. */
const UNFINISHED_MAX = 32

/** A connection by its other end. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>

/** Returns the text by which `HandshakeLimit` knows a connection. */
const nameOf = ({ remoteAddress, remotePort }: Peer): string => `${remoteAddress} ${remotePort}`

export interface HandshakeLimit {
  /**
   * Begins a handshake, or lets it wait for the end of another one of its address.
   *
   * @param begin returns whether it has begun: the connection may be gone
   */
  enter(peer: Peer, begin: () => boolean): void
  /** Notes that a connection is secure or closed. Of one without unfinished handshake: nothing. */
  end(peer: Peer): void
}

interface Handshakes {
  /** The names of those that have begun. */
  readonly unfinished: Set<string>
  /** Those that wait, by name; the first one first. */
  readonly waiting: Map<string, () => boolean>
}

/** @param proxies the trusted proxies, which connect for all clients and have no bound */
export function createHandshakeLimit(proxies: readonly string[] = []): HandshakeLimit {
  const isProxy = createRangeMatcher(proxies)
  const byBlock = new Map<string, Handshakes>()
  const beginWaiting = (block: string, { unfinished, waiting }: Handshakes): void => {
    for (const [name, begin] of waiting) {
      if (unfinished.size >= UNFINISHED_MAX) return
      waiting.delete(name)
      if (begin()) unfinished.add(name)
    }
    if (unfinished.size === 0) byBlock.delete(block)
  }
  return {
    enter(peer, begin) {
      const address = peer.remoteAddress ?? ''
      if (isProxy(unmapAddress(address))) return void begin()
      const block = addressBlock(address)
      const handshakes = byBlock.get(block) ?? { unfinished: new Set(), waiting: new Map() }
      byBlock.set(block, handshakes)
      handshakes.waiting.set(nameOf(peer), begin)
      beginWaiting(block, handshakes)
    },
    end(peer) {
      const block = addressBlock(peer.remoteAddress ?? '')
      const handshakes = byBlock.get(block)
      if (handshakes?.unfinished.delete(nameOf(peer))) beginWaiting(block, handshakes)
    },
  }
}
