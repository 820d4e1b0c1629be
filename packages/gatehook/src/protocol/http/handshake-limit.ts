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
/** While others of its address wait, a handshake has this time. */
const CONTESTED_MS = 1_000

/** A connection by its other end. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>

/** Returns the text by which `HandshakeLimit` knows a connection. */
const nameOf = ({ remoteAddress, remotePort }: Peer): string => `${remoteAddress} ${remotePort}`

export interface HandshakeLimit {
  /**
   * Begins a handshake, or lets it wait for the end of another one of its address.
   *
   * @param begin returns whether it has begun: the connection may be gone
   * @param cut ends the connection: others wait, and its handshake takes too long
   */
  enter(peer: Peer, begin: () => boolean, cut: () => void): void
  /** Notes that a connection is secure or closed. Of one without unfinished handshake: nothing. */
  end(peer: Peer): void
}

interface Handshake {
  readonly begin: () => boolean
  readonly cut: () => void
}

interface Handshakes {
  /** The cuts of those that have begun, by name; the first one first. */
  readonly unfinished: Map<string, () => void>
  /** Those that wait, by name; the first one first. */
  readonly waiting: Map<string, Handshake>
  /** Whether those that have begun have a limit of time, because others wait. */
  isContested: boolean
}

const createHandshakes = (): Handshakes => ({
  unfinished: new Map(),
  waiting: new Map(),
  isContested: false,
})

/**
 * @param proxies the trusted proxies, which connect for all clients and have no bound
 * @param after calls a function after a time
 */
export function createHandshakeLimit(
  proxies: readonly string[] = [],
  after: (next: () => void, ms: number) => void = (next, ms) => void setTimeout(next, ms).unref(),
): HandshakeLimit {
  const isProxy = createRangeMatcher(proxies)
  const byBlock = new Map<string, Handshakes>()
  /** The blocks whose handshakes wait, in the order of their turns. */
  const waitingBlocks = new Set<string>()
  let total = 0
  /** Begins what an address may begin now, and returns whether it has no more that waits. */
  const beginOf = ({ unfinished, waiting }: Handshakes): boolean => {
    for (const [name, { begin, cut }] of waiting) {
      const isFull = unfinished.size >= UNFINISHED_MAX || (total >= MANY && unfinished.size > 0)
      if (isFull) return false
      waiting.delete(name)
      if (!begin()) continue
      if (!unfinished.has(name)) total += 1
      unfinished.set(name, cut)
    }
    return true
  }
  /** Cuts those that had begun when others came to wait, as many as wait. */
  const contest = (handshakes: Handshakes): void => {
    if (handshakes.isContested) return
    handshakes.isContested = true
    const begun = [...handshakes.unfinished]
    after(() => {
      handshakes.isContested = false
      const { unfinished, waiting } = handshakes
      const late = begun.filter(([name, cut]) => unfinished.get(name) === cut)
      for (const [, cut] of late.slice(0, waiting.size)) cut()
      if (waiting.size > 0) contest(handshakes)
    }, CONTESTED_MS)
  }
  const beginWaiting = (block: string): void => {
    const handshakes = byBlock.get(block)!
    waitingBlocks.delete(block)
    if (!beginOf(handshakes)) {
      waitingBlocks.add(block)
      contest(handshakes)
    } else if (handshakes.unfinished.size === 0) byBlock.delete(block)
  }
  return {
    enter(peer, begin, cut) {
      const address = peer.remoteAddress ?? ''
      if (isProxy(unmapAddress(address))) return void begin()
      const block = addressBlock(address)
      const handshakes = byBlock.get(block) ?? createHandshakes()
      byBlock.set(block, handshakes)
      handshakes.waiting.set(nameOf(peer), { begin, cut })
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
