/**
 * Bounds the unfinished TLS handshakes of an address (§11.4). Thousands of connections may each
 * send a harmless first part, and then all at once the rest, which costs a millisecond each. So a
 * few are unfinished at a time, and further connections of their address wait. A sender may have
 * hundreds of addresses: once the process has many unfinished ones, an address has a single one.
 */
import type { Socket } from 'node:net'
import { addressBlock, createRangeMatcher, unmapAddress } from '../../kernel/address.ts'

/** Unfinished ones of an address: 30 ms of work, if all go on in one turn of the event loop. */
const UNFINISHED_MAX = 32
/** Those of all addresses, from which on each address has one. */
const MANY = 128

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
  /** The blocks whose handshakes wait, in the order of their turns. */
  const waitingBlocks = new Set<string>()
  let total = 0
  /** Begins what an address may begin now, and returns whether it has no more that waits. */
  const beginOf = ({ unfinished, waiting }: Handshakes): boolean => {
    for (const [name, begin] of waiting) {
      const isFull = unfinished.size >= UNFINISHED_MAX || (total >= MANY && unfinished.size > 0)
      if (isFull) return false
      waiting.delete(name)
      if (!begin()) continue
      unfinished.add(name)
      total += 1
    }
    return true
  }
  const beginWaiting = (block: string): void => {
    const handshakes = byBlock.get(block)!
    waitingBlocks.delete(block)
    if (!beginOf(handshakes)) waitingBlocks.add(block)
    else if (handshakes.unfinished.size === 0) byBlock.delete(block)
  }
  return {
    enter(peer, begin) {
      const address = peer.remoteAddress ?? ''
      if (isProxy(unmapAddress(address))) return void begin()
      const block = addressBlock(address)
      const handshakes = byBlock.get(block) ?? { unfinished: new Set(), waiting: new Map() }
      byBlock.set(block, handshakes)
      handshakes.waiting.set(nameOf(peer), begin)
      beginWaiting(block)
    },
    end(peer) {
      const block = addressBlock(peer.remoteAddress ?? '')
      const handshakes = byBlock.get(block)
      if (!handshakes?.unfinished.delete(nameOf(peer))) return
      total -= 1
      beginWaiting(block)
      // One that ends lets one of another address begin.
      const [next] = waitingBlocks
      if (next !== undefined && total < MANY) beginWaiting(next)
    },
  }
}
