/**
 * Bounds the request bodies of open requests (§11.5): their bytes and parsed values, per caller,
 * per customer and in the process, until the handler has answered. `receive-body.ts` reports them.
 */
import { Budget, type Shares } from '../../kernel/budget.ts'
import { createOwnerTurns, type TakeOwnerTurn } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Share } from '../../kernel/share.ts'
import { wakeAfter } from '../../kernel/turns.ts'

const MIB = 1_048_576
const RETRY_AFTER_S = 1

/** A body that has arrived is not cut; one that arrives for longer than `stalledMs` is slow. */
export const BODY_SHARES: Shares = {
  process: 64 * MIB,
  group: 8 * MIB,
  caller: 4 * MIB,
  small: 2 * MIB,
  stalledMs: 1000,
}

/**
 * Bodies beyond 1 MiB, which declarations allow (§15.10), have shares of their own, so that they
 * take none of other requests. A JSON body of 16 MiB takes three times its size.
 */
export const LARGE_BODY_SHARES: Shares = {
  process: 64 * MIB,
  group: 48 * MIB,
  caller: 32 * MIB,
  small: 4 * MIB,
  stalledMs: 1000,
}

/** A cut rejects the request and drops its bytes. */
export type Ingress = Pick<Budget, 'hold' | 'total'>

export const createIngress = (clock: Pick<Clock, 'elapsedMs'>, shares = BODY_SHARES): Ingress =>
  new Budget(shares, clock)

/**
 * The turns in which the costly bodies of a group are parsed; it rests after each. Its callers take
 * turns, so that one with many bodies delays another one by one body and its rest.
 */
export const createParseTurns = (
  share: Pick<Share, 'restMs' | 'addWork'>,
  clock: Pick<Clock, 'elapsedMs'>,
): TakeOwnerTurn =>
  createOwnerTurns(Number.POSITIVE_INFINITY, { rests: { ...share, clock, after: wakeAfter } })

export const tooManyBodies = (): Failure =>
  new Failure('overloaded', 'Too many request bodies are open. Retry.', {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
