/**
 * The turns of the reads of own code (§11.5). Code may begin any number of reads at once: a few of
 * them run beside each other, the others wait, and the requests of others run between them.
 */
import { customerNoOf, type Scope } from '../../kernel/principal.ts'

/** Reads of one handler or transaction that run beside each other. */
const AT_ONCE_MAX = 64
/** Reads of own code that begin in one turn of the event loop: at most 20 ms, of 100 rows each. */
const PER_TURN_MAX = 16

/** Runs a read in its turn. */
type TakeReadTurn = <A extends readonly never[], T>(
  read: (...given: A) => Promise<T>,
  ...given: A
) => Promise<T>

/** The turns of the reads of a handler or a transaction. */
export interface HandlerTurns {
  readonly take: TakeReadTurn
  /** To be called when the code has ended: reads that wait for a turn fail, with the reason. */
  end(reason?: unknown): void
}

export interface ReadTurns {
  /** Returns the turns of the reads of a handler or a transaction of a customer. */
  open(scope: Scope): HandlerTurns
}

/** The reads of a handler or a transaction. */
class Reads {
  /** The key of its customer. */
  readonly customer: number
  runningCount = 0
  /** Whether it is in the line of its customer. */
  isReady = false
  hasEnded = false
  reason: unknown
  #waiting: (() => void)[] = []
  /** Those at the begin of `#waiting` that have begun: `shift` would move all others. */
  #begunCount = 0

  constructor(customer: number) {
    this.customer = customer
  }

  get mayBegin(): boolean {
    return this.#waiting.length > 0 && this.runningCount < AT_ONCE_MAX
  }

  /** Resolves when the read may begin, or the code has ended. */
  wait(): Promise<void> {
    return new Promise((begin) => this.#waiting.push(begin))
  }

  /** Whether none of its reads runs or waits. */
  get isIdle(): boolean {
    return this.runningCount === 0 && this.#waiting.length === 0
  }

  end(reason: unknown): void {
    this.reason ??= reason
    this.hasEnded = true
    const waiting = this.#waiting.slice(this.#begunCount)
    this.#waiting = []
    this.#begunCount = 0
    for (const settle of waiting) settle()
  }

  beginNext(): void {
    const begin = this.#waiting[this.#begunCount++]!
    if (this.#begunCount === this.#waiting.length) {
      this.#waiting = []
      this.#begunCount = 0
    }
    this.runningCount++
    begin()
  }
}

function requireUnended({ hasEnded, reason }: Reads): void {
  if (hasEnded) throw reason ?? new Error('the code around this read has ended')
}

/** @param afterTurn calls a function after the event loop has run other requests */
export function createReadTurns(afterTurn: (next: () => void) => void = setImmediate): ReadTurns {
  /** The customers in the order of their turns; of each, its handlers in the order of theirs. */
  const ready = new Map<number, Reads[]>()
  /** Reads that have begun in this turn of the event loop. */
  let begunCount = 0
  const countBegin = (): void => {
    if (begunCount++ > 0) return
    afterTurn(() => {
      begunCount = 0
      beginReady()
    })
  }
  const enter = (reads: Reads): void => {
    if (reads.isReady || !reads.mayBegin) return
    reads.isReady = true
    const line = ready.get(reads.customer)
    if (line) line.push(reads)
    else ready.set(reads.customer, [reads])
  }
  const beginReady = (): void => {
    while (ready.size > 0 && begunCount < PER_TURN_MAX) {
      const [customer, line] = ready.entries().next().value!
      const reads = line.shift()!
      ready.delete(customer)
      if (line.length > 0) ready.set(customer, line)
      reads.isReady = false
      if (!reads.mayBegin) continue
      reads.beginNext()
      countBegin()
      enter(reads)
    }
  }
  return {
    open(scope) {
      const reads = new Reads(customerNoOf(scope))
      const take: TakeReadTurn = async (read, ...given) => {
        requireUnended(reads)
        // Code that reads one row after the other waits for no turn: it may hold locks.
        if (reads.isIdle) {
          reads.runningCount++
          countBegin()
        } else {
          const begun = reads.wait()
          enter(reads)
          beginReady()
          await begun
          requireUnended(reads)
        }
        try {
          return await read(...given)
        } finally {
          reads.runningCount--
          enter(reads)
          beginReady()
        }
      }
      return { take, end: (reason) => reads.end(reason) }
    },
  }
}
