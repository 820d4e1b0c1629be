/**
 * Fair access to a few slots: each key (a customer) uses one slot at a time, and keys that wait
 * take turns. With a `Share`, a key uses its slot for a part of the time only.
 */
import type { Clock } from './clock.ts'
import { Failure } from './failure.ts'

/** Bodies of one key that may wait for its slot; further ones are refused with 503. */
const WAITING_PER_KEY_MAX = 64
/** A body that waited longer is refused with 503 when its turn comes. */
const WAIT_MAX_MS = 10_000
/** Keys remembered with their due times before those that rested long enough are removed. */
const DUE_KEYS_KEPT = 1_000

export type TurnKey = number | string
export type TakeTurn = <T>(key: TurnKey, body: () => Promise<T>) => Promise<T>

/** The part of the time in which a key's bodies run. */
export interface Share {
  /** 0.1: after 50 ms of work, 450 ms of rest. */
  readonly part: number
  /** Work that a rested key may do without rest. */
  readonly burstMs: number
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Calls `wake` after so many milliseconds. */
  readonly after: (ms: number, wake: () => void) => void
}

interface WaitingBody {
  readonly sinceMs: number
  readonly start: () => void
  readonly refuse: (reason: Failure) => void
}

const overloaded = (afterMs: number): Failure =>
  new Failure('overloaded', 'Too many expensive requests of this caller wait.', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(afterMs / 1000))) },
  })

/** Returns a function that runs `body` in one of `slots` slots when it is the turn of `key`. */
export function createTurns(slots: number, share?: Share): TakeTurn {
  let free = slots
  const queues = new Map<TurnKey, WaitingBody[]>()
  /** Keys whose first waiting body may start, in the order of their turns. */
  const ready: TurnKey[] = []
  const rests = share ? createRests(share) : undefined
  const now = () => share?.clock.elapsedMs() ?? 0

  const startNext = () => {
    while (free > 0 && ready.length > 0) {
      free -= 1
      queues.get(ready.shift()!)!.shift()!.start()
    }
  }
  const enter = (key: TurnKey) => {
    ready.push(key)
    startNext()
  }
  const enterWhenRested = (key: TurnKey) => {
    const restMs = rests?.restMs(key) ?? 0
    if (restMs <= 0) enter(key)
    else share!.after(restMs, () => wake(key))
  }
  const wake = (key: TurnKey) => {
    const queue = queues.get(key)!
    while (queue.length > 0 && now() - queue[0]!.sinceMs > WAIT_MAX_MS) {
      queue.shift()!.refuse(overloaded(0))
    }
    if (queue.length > 0) enter(key)
    else queues.delete(key)
  }
  const finish = (key: TurnKey) => {
    free += 1
    if (queues.get(key)!.length > 0) enterWhenRested(key)
    else queues.delete(key)
    startNext()
  }

  return async (key, body) => {
    const queue = queues.get(key)
    const restMs = rests?.restMs(key) ?? 0
    if ((queue && queue.length >= WAITING_PER_KEY_MAX) || restMs > WAIT_MAX_MS) {
      throw overloaded(restMs)
    }
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>()
    const waiting: WaitingBody = { sinceMs: now(), start, refuse }
    if (queue) queue.push(waiting)
    else {
      queues.set(key, [waiting])
      enterWhenRested(key)
    }
    await promise
    const startMs = now()
    try {
      return await body()
    } finally {
      rests?.add(key, startMs)
      finish(key)
    }
  }
}

/** How long each key has to rest. */
function createRests({ part, burstMs, clock }: Share) {
  /** The instant at which a key has rested for all its work so far, its burst aside. */
  const dueMs = new Map<TurnKey, number>()
  return {
    restMs: (key: TurnKey): number => (dueMs.get(key) ?? 0) - clock.elapsedMs(),
    /** The work of a key that started at `startMs` has ended. */
    add(key: TurnKey, startMs: number): void {
      const rested = startMs - burstMs / part
      const workMs = clock.elapsedMs() - startMs
      dueMs.set(key, Math.max(dueMs.get(key) ?? rested, rested) + workMs / part)
      if (dueMs.size <= DUE_KEYS_KEPT) return
      for (const [other, due] of dueMs) if (due <= rested) dueMs.delete(other)
    },
  }
}
