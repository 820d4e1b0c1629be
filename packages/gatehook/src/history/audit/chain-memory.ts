/**
 * The newest head of the chain that this node appended or read (§13). A copy of the head that
 * another program writes back has a valid HMAC: only the memory of a process shows that the chain
 * had other rows. It ends with the process.
 */
import type { Reader } from '../../platform/storage/database.ts'
import { type ChainEnd, isSameHash } from './chain.ts'
import { findHashOf, readEnd } from './chain-store.ts'

type ChainHead = Pick<ChainEnd, 'seq' | 'hash'>

/** A stored head that does not continue the newest one that the node knows. */
export interface SetBack {
  readonly expected: ChainHead
  readonly stored: ChainHead
}

export interface ChainMemory {
  newest(): ChainHead | undefined
  /** Returns how a stored head contradicts the newest one; undefined if it continues it. */
  findSetBack(from: Reader, stored: ChainHead): Promise<SetBack | undefined>
  /** Notes a head that continues the newest one. */
  note(head: ChainHead): void
  /** Notes the head of a chain that was set back, so that one report follows. */
  replace(head: ChainHead): void
}

export function createChainMemory(): ChainMemory {
  let newest: ChainHead | undefined
  const replace = ({ seq, hash }: ChainHead) => {
    newest = { seq, hash }
  }
  return {
    newest: () => newest,
    async findSetBack(from, { seq, hash }) {
      const expected = newest
      if (!expected) return undefined
      const setBack = { expected, stored: { seq, hash } }
      if (seq < expected.seq) return setBack
      const storedHash = seq === expected.seq ? hash : await findHashOf(from, expected.seq)
      if (storedHash !== undefined) {
        return isSameHash(storedHash, expected.hash) ? undefined : setBack
      }
      const anchor = await readEnd(from, 'anchor')
      return anchor && anchor.seq >= expected.seq ? undefined : setBack
    },
    note(head) {
      // Results of two batches may arrive in another order.
      if (!newest || head.seq > newest.seq) replace(head)
    },
    replace,
  }
}
