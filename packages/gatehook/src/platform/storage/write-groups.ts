/**
 * Writes that commit together on PostgreSQL: BEGIN, COMMIT with its sync, and the row of the total
 * are half of the server's work for a small INSERT (decision 0104). The first writes of a key run
 * alone. Those that arrive meanwhile wait, and are the next group, so that a write of a quiet
 * service waits for nothing. When a group fails, nothing of it is stored, and each of its writes
 * runs alone.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { Tx, WriteOptions } from './database.ts'

/** Groups of one key, also of one write, that run at once. */
const RUNNING_MAX = 4
const MEMBERS_MAX = 16
/** Writes that run alone for longer leave their place to the next group. */
const SLOW_MS = 50
/** Writes of a key that wait for a group; further ones wait for a connection. */
const WAITING_MAX = 1_000
/** After a failure the writes of the key run alone for this time. */
const PAUSE_MS = 1_000
const PAUSED_KEYS_MAX = 10_000

/** A write, and the async context of its caller: another write can start it. */
export interface GroupedChange {
  readonly change: (tx: Tx) => Promise<unknown>
  /** See `WriteOptions`. */
  readonly authority?: CallerAuthority | undefined
  /** See `WriteOptions`. */
  readonly scope?: number | undefined
  readonly inContext: <T>(body: () => T) => T
}

/** The server may have committed a group: its writes must not run again. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome'
}

interface GroupedWrite extends GroupedChange {
  readonly sinceMs: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

interface GroupState {
  running: number
  waiting: GroupedWrite[]
}

interface SlowWait {
  readonly ended: Promise<void>
  cancel(): void
}

function waitSlow(): SlowWait {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, SLOW_MS).unref()
  return { ended, cancel: () => clearTimeout(timer) }
}

interface WriteGroupDeps {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Begins to wait for the end of `SLOW_MS`, at which writes that run alone leave their place. */
  readonly awaitSlow?: () => SlowWait
  /** Runs a change in its own transaction, with repetitions. */
  readonly runAlone: (
    write: Omit<GroupedChange, 'inContext'>,
    customer: TurnKey | undefined,
    waitedMs: number,
  ) => Promise<unknown>
  /**
   * Runs changes in one transaction; returns their results. After any error but `UnknownOutcome`,
   * whose `cause` is the error for callers, nothing is stored.
   */
  readonly runTogether: (
    changes: readonly GroupedChange[],
    customer: TurnKey | undefined,
    waitedMs: number,
  ) => Promise<readonly unknown[]>
}

/** Runs a change, alone or with others of the same customer and key. */
export type RunInGroup = <T>(
  key: string,
  change: (tx: Tx) => Promise<T>,
  customer: TurnKey | undefined,
  of?: Pick<WriteOptions, 'authority' | 'scope'>,
) => Promise<T>

export function createWriteGroups({
  clock,
  awaitSlow = waitSlow,
  runAlone,
  runTogether,
}: WriteGroupDeps): RunInGroup {
  const states = new Map<string, GroupState>()
  const pausedUntil = new BoundedMap<string, number>(PAUSED_KEYS_MAX)
  const isPaused = (key: string): boolean => clock.elapsedMs() < (pausedUntil.get(key) ?? 0)
  const waitOf = ({ sinceMs }: Pick<GroupedWrite, 'sinceMs'>) => clock.elapsedMs() - sinceMs
  /** Returns whether the writes have ended: their callers have results. */
  const runGroup = async (key: string, members: readonly GroupedWrite[], customer?: TurnKey) => {
    if (members.length === 1 || isPaused(key)) return false
    try {
      const values = await runTogether(members, customer, waitOf(members[0]!))
      for (const [at, { resolve }] of members.entries()) resolve(values[at])
      return true
    } catch (error) {
      pausedUntil.set(key, clock.elapsedMs() + PAUSE_MS)
      if (!(error instanceof UnknownOutcome)) return false
      for (const { reject } of members) reject(error.cause)
      return true
    }
  }
  const runEach = async (members: readonly GroupedWrite[], customer?: TurnKey) => {
    const ends = members.map((member) =>
      member
        .inContext(() => runAlone(member, customer, waitOf(member)))
        .then(member.resolve, member.reject),
    )
    // Writes that wait for a lock hold up no others.
    const slow = awaitSlow()
    await Promise.race([Promise.all(ends), slow.ended])
    slow.cancel()
  }
  const start = async (
    key: string,
    state: GroupState,
    members: GroupedWrite[],
    customer?: TurnKey,
  ) => {
    state.running++
    if (!(await runGroup(key, members, customer))) await runEach(members, customer)
    state.running--
    const next = state.waiting.splice(0, MEMBERS_MAX)
    if (next.length > 0) void start(key, state, next, customer)
    else if (state.running === 0) states.delete(key)
  }
  return (group, change, customer, { authority, scope } = {}) => {
    // Backends, persons and operators take turns, so they share no group (decision 0084).
    const key = `${customer} ${group}`
    const state = states.get(key) ?? { running: 0, waiting: [] }
    states.set(key, state)
    if (state.waiting.length >= WAITING_MAX)
      return runAlone({ change, authority, scope }, customer, 0) as never
    return new Promise((resolve, reject) => {
      const inContext = AsyncLocalStorage.snapshot()
      const sinceMs = clock.elapsedMs()
      const parts = { change, authority, scope, inContext, sinceMs }
      const member = { ...parts, resolve, reject } as GroupedWrite
      if (state.running < RUNNING_MAX) void start(key, state, [member], customer)
      else state.waiting.push(member)
    })
  }
}
