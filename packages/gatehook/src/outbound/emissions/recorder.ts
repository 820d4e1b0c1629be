/**
 * Records emitted events (§17.2) in transactions of the engine, from where they are events like
 * others: with a position, filters, versions and deliveries. A row is found by its transaction: a
 * read covers those that the read before did not see, so that no open transaction delays another,
 * and none that commits late is skipped. An event that does not fit its declaration is held.
 */
import type { RecordEvent } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import * as store from './store.ts'

/** Rows that another node has locked, and has not moved, are found after this time. */
const SWEEP_MS = 5_000
/** One run ends after this time: sweeps, and the end of a process, wait for none longer. */
const RUN_MS = 2_000
const PROBLEM_MAX = 500
const OF_NO_CUSTOMER = 'an emitted event of a customer that is deleted was dropped'

export interface EmissionDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly record: RecordEvent
  /** Validates an object in the newest version; returns its JSON text. Throws a `Failure`. */
  readonly readObject: (type: string, object: unknown) => string
  readonly isDeclared: (type: string) => boolean
  /** Whether the scope belongs to a customer whose data is not being deleted. */
  readonly hasCustomer: (from: Reader, scope: Scope) => Promise<boolean>
  /** Identifies the declaration: another one retries a held event. */
  readonly declaration: string
}

interface LockedRows {
  readonly nos: readonly number[]
}

/** An event that this declaration refuses. */
class Misfit extends Error {}

export interface EmissionRecorder {
  /** Records all events that wait. */
  run(): Promise<void>
}

export function createEmissionRecorder(deps: EmissionDeps): EmissionRecorder {
  const { db, clock, declaration } = deps
  let seen: store.Snapshot | undefined
  let sweptMs = Number.NEGATIVE_INFINITY
  /** The held event that a sweep tried last: one that fails again stops no later one. */
  let lastHeld = 0
  /** The scope after which the next turn begins. */
  let turnAfter = 0
  const move = (tx: Tx, nos: readonly number[]) => moveRows(deps, tx, nos)
  const moveEach = async (nos: readonly number[]) => {
    for (const no of nos) {
      try {
        await db.write((tx) => move(tx, [no]))
      } catch (error) {
        if (isOutage(error)) throw error
        await db.write(async (tx) => {
          for (const emission of await store.lockEmissions(tx, [no])) {
            await hold(deps, tx, emission, error as Error)
          }
        })
      }
    }
  }
  /** Moves the rows that `lock` selects, each in its own transaction if one fails. */
  const moveBatch = async <B extends LockedRows>(lock: (tx: Tx) => Promise<B>): Promise<B> => {
    let batch: B | undefined
    try {
      await db.write(async (tx) => {
        batch = await lock(tx)
        if (batch.nos.length > 0) await move(tx, batch.nos)
      })
    } catch (error) {
      if (isOutage(error) || !batch) throw error
      await moveEach(batch.nos)
    }
    return batch!
  }
  /**
   * Moves what waits. Beyond one batch, customers take turns: many events delay their own only.
   * Returns whether nothing is left.
   */
  const moveAll = async (): Promise<boolean> => {
    const endMs = clock.elapsedMs() + RUN_MS
    const first = await moveBatch((tx) => store.lockWaiting(tx, seen))
    if (first.isLast || first.nos.length === 0) return true
    while (clock.elapsedMs() < endMs) {
      const { nos, next } = await moveBatch((tx) => store.lockTurn(tx, turnAfter))
      if (nos.length === 0 && turnAfter === 0) return true
      turnAfter = next
    }
    return false
  }
  const sweep = async () => {
    seen = undefined
    for (let at = 0; at < SWEPT_HELD_MAX; at++) {
      const row = await store.findHeldByOthers(db, declaration, lastHeld)
      lastHeld = row?.no ?? 0
      if (!row) {
        sweptMs = clock.elapsedMs()
        return
      }
      await moveEach([row.no])
    }
    // The next run continues.
  }
  return {
    async run() {
      if (clock.elapsedMs() - sweptMs >= SWEEP_MS) await sweep()
      const { snapshot, waits } = await store.readWaiting(db, seen)
      if (waits && !(await moveAll())) return
      seen = snapshot
    },
  }
}

/** Records the events of rows; holds those that do not fit. */
async function moveRows(deps: EmissionDeps, tx: Tx, nos: readonly number[]): Promise<void> {
  const { log, hasCustomer } = deps
  const done: number[] = []
  const ownerless: number[] = []
  const customers = new Map<Scope, Promise<boolean>>()
  const isOfCustomer = ({ scope }: store.Emission) => {
    if (!customers.has(scope)) customers.set(scope, hasCustomer(tx, scope))
    return customers.get(scope)
  }
  for (const emission of await store.lockEmissions(tx, nos)) {
    try {
      const isOwned = await isOfCustomer(emission)
      if (isOwned) await recordOne(deps, tx, emission)
      else tx.afterCommit(() => log.warn({ event: emission.id }, OF_NO_CUSTOMER))
      const ended = isOwned ? done : ownerless
      ended.push(emission.no)
    } catch (error) {
      if (!(error instanceof Misfit)) throw error
      await hold(deps, tx, emission, error)
    }
  }
  store.endEmissions(tx, done)
  if (ownerless.length > 0) store.dropEmissions(tx, ownerless)
}

function hold(deps: EmissionDeps, tx: Tx, { no, id, type }: store.Emission, error: Error) {
  const { clock, declaration, log } = deps
  const problem = error.message.slice(0, PROBLEM_MAX)
  tx.afterCommit(() => log.warn({ event: id, type, problem }, 'an emitted event is held'))
  // Another failure may be temporary: each sweep repeats it.
  const refusedBy = error instanceof Misfit || error instanceof Failure ? declaration : ''
  return store.holdEmission(tx, no, { declaration: refusedBy, problem, now: clock.now() })
}

/** Held events that one sweep tries. */
const SWEPT_HELD_MAX = 100

async function recordOne(deps: EmissionDeps, tx: Tx, emission: store.Emission): Promise<void> {
  const { record, readObject, isDeclared } = deps
  const { id, scope, type, created_at } = emission
  if (!isDeclared(type)) throw new Misfit('The service declares no event of this type from SQL.')
  const object = readFitting(readObject, emission)
  const event = { type, collection: undefined, objectId: undefined, object }
  const origin = { id, createdMs: created_at }
  await record(tx, scope, event, await record.announce!(tx, scope, event, origin))
}

function readFitting(readObject: EmissionDeps['readObject'], { type, object }: store.Emission) {
  try {
    return readObject(type, JSON.parse(object))
  } catch (error) {
    const { errors, message } = error as Failure
    const places = errors?.map(({ pointer, message: text }) => `${pointer} ${text}`)
    throw new Misfit(places?.join(', ') || message)
  }
}

/** Whether the database, not the event, is the cause: the event is recorded later. */
const isOutage = (error: unknown): boolean =>
  error instanceof Failure
    ? error.code === 'storage_unavailable' || error.code === 'durability_lost'
    : false
