/**
 * Orders the hashing of passwords (§3.8, §3.9). A few passwords are hashed at once, and the others
 * wait: a flood of guesses must not delay or displace a correct login. Pure except for callbacks.
 *
 * Each password has a rank. Rank 0 is for a password that is probably correct, or whose client the
 * account recognizes (`login.ts`); a higher rank means more recent failures. Lower ranks go first.
 * Within a rank, an account or an address with many waiting passwords alternates with the others.
 * Among equals of rank 0 the oldest goes first; among other equals the newest, whose client still
 * waits. A full queue rejects the last password in this order.
 */
import { Failure } from '../../kernel/failure.ts'

/** Passwords that wait for a thread. */
const MAX_WAITING = 512
/** A password of rank 1 and above is rejected after this time, at which clients give up. */
const MAX_WAIT_MS = 10_000
const RETRY_AFTER_S = 2

export interface HashPriority {
  readonly rank: number
  readonly account: string
  readonly address: string
}

interface HashQueueOptions {
  /** How many passwords are hashed at the same time. */
  readonly concurrency: number
  readonly maxWaiting?: number
  readonly elapsedMs: () => number
}

interface HashQueue {
  /** Runs `work` when it is its turn. Throws `overloaded` if a full queue rejects it. */
  run<T>(priority: HashPriority, work: () => Promise<T>): Promise<T>
}

interface WaitingHash extends HashPriority {
  /** How many passwords of the account, or of the address, waited before this one. */
  readonly behind: number
  readonly sequence: number
  readonly sinceMs: number
  readonly start: () => void
  readonly reject: (reason: Failure) => void
}

/** Returns a negative number when `a` goes before `b`. */
const compare = (a: WaitingHash, b: WaitingHash): number =>
  a.rank - b.rank ||
  a.behind - b.behind ||
  (a.rank === 0 ? a.sequence - b.sequence : b.sequence - a.sequence)

export function createHashQueue(options: HashQueueOptions): HashQueue {
  const { concurrency, elapsedMs, maxWaiting = MAX_WAITING } = options
  const waiting = new Set<WaitingHash>()
  let running = 0
  let sequence = 0

  const first = (): WaitingHash => [...waiting].reduce((a, b) => (compare(a, b) <= 0 ? a : b))
  const last = (): WaitingHash => [...waiting].reduce((a, b) => (compare(a, b) > 0 ? a : b))
  const reject = (entry: WaitingHash) => {
    waiting.delete(entry)
    const headers = { 'retry-after': String(RETRY_AFTER_S) }
    const detail = `${waiting.size + 1} password hashes wait for ${concurrency} at a time`
    entry.reject(new Failure('overloaded', undefined, { headers, detail }))
  }
  const rejectExpired = () => {
    const sinceMs = elapsedMs() - MAX_WAIT_MS
    for (const entry of waiting) if (entry.rank > 0 && entry.sinceMs <= sinceMs) reject(entry)
  }
  const waitForTurn = (priority: HashPriority): Promise<void> =>
    new Promise((resolve, rejectPromise) => {
      rejectExpired()
      const entries = [...waiting]
      const behindAccount = entries.filter(({ account }) => account === priority.account).length
      const behindAddress = entries.filter(({ address }) => address === priority.address).length
      waiting.add({
        ...priority,
        behind: Math.max(behindAccount, behindAddress),
        sequence: sequence++,
        sinceMs: elapsedMs(),
        start: resolve,
        reject: rejectPromise,
      })
      if (waiting.size > maxWaiting) reject(last())
    })
  const startNext = () => {
    rejectExpired()
    if (waiting.size === 0) {
      running -= 1
      return
    }
    const entry = first()
    waiting.delete(entry)
    entry.start() // takes over the running slot
  }

  return {
    async run(priority, work) {
      if (running < concurrency) running += 1
      else await waitForTurn(priority)
      try {
        return await work()
      } finally {
        startNext()
      }
    },
  }
}
