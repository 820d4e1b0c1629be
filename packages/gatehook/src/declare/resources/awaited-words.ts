/**
 * The calls of own code that are under way. Code that does not await a change would end without it:
 * the commit, the response or the end of a job would lack a part. So its transaction or attempt
 * fails, and the error names the call. Reads may go on: the end waits for them. Contains no
 * database access.
 */
import { setImmediate } from 'node:timers/promises'
import { unawaited } from '../../kernel/unawaited.ts'

export type Word = (...given: never[]) => Promise<unknown>

/** Returns the word; a rejection that no code awaits does not end the process. */
export const handled = <W extends Word>(word: W): W => {
  const call = (...given: never[]): Promise<unknown> => {
    const promise = Promise.try(word, ...given)
    promise.catch(() => {})
    return promise
  }
  return call as W
}

/** Returns an object with other functions; its other members stay. */
export const mapWords = <T extends object>(words: T, map: (word: Word, name: string) => Word): T =>
  Object.fromEntries(
    Object.entries(words).map(([name, word]) => [
      name,
      typeof word === 'function' ? map(word as Word, name) : word,
    ]),
  ) as T

/** A promise that notices whether code awaits it. */
class AwaitedPromise<T> extends Promise<T> {
  /** The promises that follow from it are plain ones. */
  static override get [Symbol.species]() {
    return Promise
  }

  isAwaited = false

  // biome-ignore lint/suspicious/noThenProperty: `await` calls it
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}

interface WordCall {
  readonly name: string
  /** The first argument, often a resource. */
  readonly subject: unknown
  readonly isChange: boolean
}

interface OpenCall extends WordCall {
  readonly promise: AwaitedPromise<unknown>
  /** Undefined while it runs. */
  failure?: { readonly reason: unknown }
}

export interface AwaitedWords {
  /** Returns the word, handled, whose calls have to be awaited. */
  track<W extends Word>(name: string, word: W): W
  /** Runs a call that has to be awaited. */
  call<T>(call: WordCall, run: () => Promise<T>): Promise<T>
  /**
   * Waits for the calls that still run. Throws if one of them is a change, or if a rejection of one
   * reached no code that awaits it.
   */
  settle(): Promise<void>
}

/** The words that change nothing, without what they belong to. */
const READS = new Set(['get', 'find', 'list', 'lock', 'all', 'arrays', 'read'])

export const isRead = (name: string): boolean => READS.has(name.split('.').at(-1)!)

/** Returns the name of a call: `tx.update(notes)`. */
function nameOf({ name, subject }: OpenCall): string {
  const { definition } = (subject ?? {}) as { definition?: { name?: unknown } }
  return typeof definition?.name === 'string' ? `${name}(${definition.name})` : name
}

/** Whether the code went on without a change, or without the error of a call. */
function isForgotten(call: OpenCall): boolean {
  if (!call.failure) return call.isChange
  return unawaited.has(call.failure.reason) || (call.isChange && !call.promise.isAwaited)
}

export function createAwaitedWords(): AwaitedWords {
  const calls = new Set<OpenCall>()
  let hasEnded = false
  let forgotten: OpenCall | undefined
  const begin = <T>(of: WordCall, run: () => Promise<T>): Promise<T> => {
    const { promise, resolve } = AwaitedPromise.withResolvers<T>()
    const call: OpenCall = { ...of, promise: promise as OpenCall['promise'] }
    // Before those that its code calls.
    calls.add(call)
    if (hasEnded && call.isChange) forgotten ??= call
    Promise.prototype.then.call(
      promise,
      () => calls.delete(call),
      (reason: unknown) => {
        call.failure = { reason }
      },
    )
    resolve((async () => run())())
    return promise
  }
  return {
    track<W extends Word>(name: string, word: W): W {
      const isChange = !isRead(name)
      const tracked = (...given: never[]): Promise<unknown> =>
        begin({ name, subject: given[0], isChange }, () => word(...given))
      return tracked as W
    },
    call: begin,
    async settle() {
      hasEnded = true
      forgotten = [...calls].find((call) => !call.failure && call.isChange)
      // Code that follows from calls that have ended runs before.
      await new Promise((resolve) => process.nextTick(resolve))
      while (calls.size > 0) {
        const running = [...calls].filter(({ failure }) => !failure)
        await Promise.all(running.map(endOf))
        // The process reports rejections that no code awaits after all microtasks.
        await setImmediate()
        forgotten ??= [...calls].find(isForgotten)
        if (running.length === 0) break
      }
      if (forgotten) throw new Error(`own code does not await the end of ${nameOf(forgotten)}`)
    },
  }
}

const noop = () => {}
/** Resolves when a call has ended; code that observes it does not await the call. */
const endOf = ({ promise }: OpenCall): Promise<void> =>
  Promise.prototype.then.call(promise, noop, noop) as Promise<void>
