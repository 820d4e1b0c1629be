/**
 * The order in which passwords are hashed (§3.8, §3.9). A few are hashed at once; the others wait,
 * and a flood of guesses must not delay or displace a correct login. Pure but for its callbacks.
 *
 * Each password has a rank. Rank 0 is for a password that is probably correct, or whose client is
 * known for the account (`sign-in.ts`); a higher rank means more recent failures. Lower ranks go
 * first. Within a rank, an account or an address with many waiting passwords takes turns with the
 * others. Among equals of rank 0 the oldest goes first; among other equals the newest, whose client
 * still waits. When all places are taken, the last in this order is rejected.
 */
import { Failure } from '../kernel/failure.ts'

/** Passwords that wait for a thread. */
export const WAITING_MAX = 512
/** A password of rank 1 and above that waited this long is rejected: clients give up. */
const WAIT_MAX_MS = 10_000
const RETRY_AFTER_S = 2

export interface HashTurn {
  readonly rank: number
  readonly account: string
  readonly address: string
}

export interface HashQueueOptions {
  readonly atOnce: number
  readonly waitingMax?: number
  readonly elapsedMs: () => number
}

export interface HashQueue {
  /** Runs `work` in its turn. Throws `overloaded` when the place goes to another. */
  run<T>(turn: HashTurn, work: () => Promise<T>): Promise<T>
}

interface Waiting extends HashTurn {
  /** How many passwords of the account, or of the address, waited before this one. */
  readonly behind: number
  readonly number: number
  readonly sinceMs: number
  readonly start: () => void
  readonly reject: (reason: Failure) => void
}

const overloaded = () =>
  new Failure('overloaded', undefined, { headers: { 'retry-after': String(RETRY_AFTER_S) } })

/** Negative when `a` goes before `b`. */
const compare = (a: Waiting, b: Waiting): number =>
  a.rank - b.rank ||
  a.behind - b.behind ||
  (a.rank === 0 ? a.number - b.number : b.number - a.number)

export function createHashQueue(options: HashQueueOptions): HashQueue {
  const { atOnce, elapsedMs, waitingMax = WAITING_MAX } = options
  const waiting = new Set<Waiting>()
  let running = 0
  let count = 0

  const first = (): Waiting => [...waiting].reduce((a, b) => (compare(a, b) <= 0 ? a : b))
  const last = (): Waiting => [...waiting].reduce((a, b) => (compare(a, b) > 0 ? a : b))
  const drop = (one: Waiting) => {
    waiting.delete(one)
    one.reject(overloaded())
  }
  const dropOld = () => {
    const sinceMs = elapsedMs() - WAIT_MAX_MS
    for (const one of waiting) if (one.rank > 0 && one.sinceMs <= sinceMs) drop(one)
  }
  const entryOf = (turn: HashTurn, start: () => void, reject: Waiting['reject']): Waiting => {
    const all = [...waiting]
    const ofAccount = all.filter(({ account }) => account === turn.account).length
    const ofAddress = all.filter(({ address }) => address === turn.address).length
    const behind = Math.max(ofAccount, ofAddress)
    return { ...turn, behind, number: count++, sinceMs: elapsedMs(), start, reject }
  }
  const place = (turn: HashTurn): Promise<void> =>
    new Promise((resolve, reject) => {
      dropOld()
      waiting.add(entryOf(turn, resolve, reject))
      if (waiting.size > waitingMax) drop(last())
    })
  const next = () => {
    dropOld()
    if (waiting.size === 0) {
      running -= 1
      return
    }
    const one = first()
    waiting.delete(one)
    one.start() // the thread is handed on
  }

  return {
    async run(turn, work) {
      if (running < atOnce) running += 1
      else await place(turn)
      try {
        return await work()
      } finally {
        next()
      }
    },
  }
}
