/**
 * Fair access to a few slots: each key (a customer) uses one slot at a time, and keys that wait
 * take turns. With `Rests`, a key uses its slot for a part of the time only.
 */

import type { Clock } from './clock.ts'
import { Failure } from './failure.ts'
import type { Share } from './share.ts'
import { retryAfterS } from './time.ts'

/** Bodies of one key that may wait for its slots; further ones are rejected with 503. */
const WAITING_PER_KEY_MAX = 64
/** A body that waited longer is rejected with 503 at its turn. */
const WAIT_MAX_MS = 10_000

export type TurnKey = number | string
export interface TakeTurn {
  <T>(key: TurnKey, body: () => Promise<T>): Promise<T>
  /** Throws `overloaded` if a body of this key would be rejected. */
  refuseIfFull(key: TurnKey): void
  /** Returns the number of keys whose next body waits for the slots of others. */
  waitingCount(): number
}

/** Calls `wake` later, and does not keep the process running. */
export const wakeAfter = (ms: number, wake: () => void): void => {
  setTimeout(wake, ms).unref()
}

/** The rests of keys between their bodies. */
export interface Rests extends Pick<Share, 'restMs' | 'addWork'> {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Calls `wake` after `ms` milliseconds. */
  readonly after: (ms: number, wake: () => void) => void
}

interface WaitingBody {
  readonly sinceMs: number
  readonly start: () => void
  readonly refuse: (reason: Failure) => void
}

const overloadFailure = (afterMs: number): Failure =>
  new Failure('overloaded', 'Too many expensive requests of this caller wait.', {
    headers: { 'retry-after': String(retryAfterS(afterMs)) },
  })

interface KeyState {
  readonly waiting: WaitingBody[]
  running: number
  /** Whether it is in the list of ready keys, or rests until it enters it. */
  isReady: boolean
}

export interface TurnOptions {
  /** Bodies of one key that run at once. Default 1. */
  readonly perKey?: number
  /** Bodies of one key that wait at most. Default 64. */
  readonly waitingPerKey?: number
  /** Default: keys do not rest. */
  readonly rests?: Rests
  /** Measures waits, as that of `rests` does. Default: bodies wait without a limit. */
  readonly clock?: Rests['clock']
}

/** Runs a body in the turn of a member of a key. */
export interface TakeMemberTurn {
  <T>(member: TurnKey, key: TurnKey, body: () => Promise<T>): Promise<T>
  /** Throws `overloaded` if a body of this member would be rejected. */
  refuseIfFull(member: TurnKey, key: TurnKey): void
  /** See `TakeTurn`. */
  waitingCount(): number
}

/**
 * Returns turns of keys with members. Each member has at most `perKey` bodies at a time in the
 * queue of its key, so that none fills it.
 */
export function createMemberTurns(slots: number, options: TurnOptions = {}): TakeMemberTurn {
  const { rests, clock = rests?.clock, ...bounds } = options
  const members = createTurns(Number.POSITIVE_INFINITY, bounds)
  const keys = createTurns(slots, options)
  const now = () => clock?.elapsedMs() ?? 0
  const refuseIfFull = (member: TurnKey, key: TurnKey) => {
    members.refuseIfFull(member)
    keys.refuseIfFull(key)
  }
  const take = <T>(member: TurnKey, key: TurnKey, body: () => Promise<T>): Promise<T> => {
    const sinceMs = now()
    return members(member, () => {
      if (now() - sinceMs > WAIT_MAX_MS) throw overloadFailure(0)
      return keys(key, body)
    })
  }
  return Object.assign(take, { refuseIfFull, waitingCount: keys.waitingCount })
}

/** Returns a function that runs `body` in one of `slots` slots when it is the turn of `key`. */
export function createTurns(slots: number, options: TurnOptions = {}): TakeTurn {
  const { perKey = 1, waitingPerKey = WAITING_PER_KEY_MAX, rests } = options
  const { clock = rests?.clock } = options
  let free = slots
  const states = new Map<TurnKey, KeyState>()
  /** Keys of which a body may start, in the order of their turns. */
  const ready: TurnKey[] = []
  const now = () => clock?.elapsedMs() ?? 0

  const refuseLate = ({ waiting }: KeyState) => {
    while (waiting.length > 0 && now() - waiting[0]!.sinceMs > WAIT_MAX_MS) {
      waiting.shift()!.refuse(overloadFailure(0))
    }
  }
  const startNext = () => {
    while (free > 0 && ready.length > 0) {
      const key = ready.shift()!
      const state = states.get(key)!
      state.isReady = false
      refuseLate(state)
      const next = state.waiting.shift()
      if (next) {
        free -= 1
        state.running += 1
        next.start()
      }
      enter(key, state)
    }
  }
  /** Makes the key ready when it has rested; removes it when it has no bodies. */
  const enter = (key: TurnKey, state: KeyState) => {
    const { waiting, running, isReady } = state
    if (waiting.length === 0) {
      if (running === 0) states.delete(key)
      return
    }
    if (isReady || running >= perKey) return
    state.isReady = true
    const restMs = rests?.restMs(key) ?? 0
    if (restMs <= 0) ready.push(key)
    else rests!.after(restMs, () => wake(key, state))
  }
  const wake = (key: TurnKey, state: KeyState) => {
    refuseLate(state)
    state.isReady = state.waiting.length > 0
    if (state.isReady) ready.push(key)
    else enter(key, state)
    startNext()
  }
  const finish = (key: TurnKey, state: KeyState) => {
    free += 1
    state.running -= 1
    enter(key, state)
    startNext()
  }
  const refuseIfFull = (key: TurnKey) => {
    const restMs = rests?.restMs(key) ?? 0
    const isFull = states.get(key)?.waiting.length === waitingPerKey
    if (isFull || restMs > WAIT_MAX_MS) throw overloadFailure(restMs)
  }

  const take = async <T>(key: TurnKey, body: () => Promise<T>): Promise<T> => {
    refuseIfFull(key)
    let state = states.get(key)
    if (!state) states.set(key, (state = { waiting: [], running: 0, isReady: false }))
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>()
    state.waiting.push({ sinceMs: now(), start, refuse })
    enter(key, state)
    startNext()
    await promise
    const startMs = now()
    try {
      return await body()
    } finally {
      rests?.addWork(key, now() - startMs)
      finish(key, state)
    }
  }
  return Object.assign(take, { refuseIfFull, waitingCount: () => ready.length })
}
