/**
 * Fair access to a few slots: each key (a customer) uses one slot at a time, and keys that wait
 * take turns.
 */
import { Failure } from './failure.ts'

/** Bodies of one key that may wait for its slot; further ones are refused with 503. */
const WAITING_PER_KEY_MAX = 64

export type TurnKey = number | string
export type TakeTurn = <T>(key: TurnKey, body: () => Promise<T>) => Promise<T>

/** Returns a function that runs `body` in one of `slots` slots when it is the turn of `key`. */
export function createTurns(slots: number): TakeTurn {
  let free = slots
  const queues = new Map<TurnKey, (() => void)[]>()
  /** Keys that have waiting bodies and none that runs, in the order of their turns. */
  const ready: TurnKey[] = []

  const startNext = () => {
    while (free > 0 && ready.length > 0) {
      free -= 1
      queues.get(ready.shift()!)!.shift()!()
    }
  }
  const finish = (key: TurnKey) => {
    free += 1
    if (queues.get(key)!.length > 0) ready.push(key)
    else queues.delete(key)
    startNext()
  }

  return async (key, body) => {
    const queue = queues.get(key)
    if (queue && queue.length >= WAITING_PER_KEY_MAX) {
      throw new Failure('overloaded', 'Too many expensive requests of this caller wait.', {
        headers: { 'retry-after': '1' },
      })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    if (queue) queue.push(resolve)
    else {
      queues.set(key, [resolve])
      ready.push(key)
      startNext()
    }
    await promise
    try {
      return await body()
    } finally {
      finish(key)
    }
  }
}
