/**
 * The calls of own code that are under way. Code that does not await a change would end without it:
 * the commit, the response or the end of a job would lack a part. So its transaction or attempt
 * fails, and the error names the call. Contains no database access.
 */

type Word = (...given: never[]) => Promise<unknown>

/** Returns the word; a rejection that no code awaits does not end the process. */
export const handled = <W extends Word>(word: W): W => {
  const call = (...given: never[]): Promise<unknown> => {
    const promise = new Promise((resolve) => resolve(word(...given)))
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

interface OpenCall {
  readonly name: string
  /** The first argument, often a resource. */
  readonly subject: unknown
  readonly promise: AwaitedPromise<unknown>
  isRunning: boolean
}

export interface AwaitedWords {
  /** Returns the word, handled, whose calls have to be awaited. */
  track<W extends Word>(name: string, word: W): W
  /** Throws if a call still runs, or if no code has awaited it. */
  requireAwaited(): void
}

/** Returns the name of a call: `tx.update(notes)`. */
function nameOf({ name, subject }: OpenCall): string {
  const { definition } = (subject ?? {}) as { definition?: { name?: unknown } }
  return typeof definition?.name === 'string' ? `${name}(${definition.name})` : name
}

export function createAwaitedWords(): AwaitedWords {
  const calls = new Set<OpenCall>()
  const track = <W extends Word>(name: string, word: W): W => {
    const tracked = (...given: never[]): Promise<unknown> => {
      const promise = new AwaitedPromise<unknown>((resolve) => resolve(word(...given)))
      const call: OpenCall = { name, subject: given[0], promise, isRunning: true }
      calls.add(call)
      const end = () => {
        call.isRunning = false
        if (promise.isAwaited) calls.delete(call)
      }
      Promise.prototype.then.call(promise, end, end)
      return promise
    }
    return tracked as W
  }
  return {
    track,
    requireAwaited() {
      for (const call of calls) {
        if (call.promise.isAwaited && !call.isRunning) continue
        throw new Error(`own code does not await ${nameOf(call)}`)
      }
    },
  }
}
