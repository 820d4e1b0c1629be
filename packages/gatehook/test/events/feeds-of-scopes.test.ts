/**
 * §9.11, §11.5: on PostgreSQL, transactions of other customers do not hold a feed back, and those
 * that can record events of its own customer and mode do, so that it returns each event once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { createFeed, type Feed } from '../../src/history/events/feed.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { type Scope, scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { FeedCursor } from '../../src/platform/storage/commit-feed.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const SCOPES = [scopeOf(1, 'test'), scopeOf(1, 'live')] as const
const [scope, other] = SCOPES
const postgres = databases.find(({ name }) => name === 'postgres')!

const record = createRecorder({
  clock: wallClock,
  random: systemRandom(),
  shape: 'v1',
  sinks: [],
})
const addEvent = (tx: Tx, id: number, of: Scope) =>
  record(tx, of, {
    type: 't.x',
    collection: undefined,
    objectId: id,
    object: JSON.stringify({ id }),
  })

/** A transaction that runs changes one by one, until it ends. */
interface OpenTransaction {
  run(change: (tx: Tx) => Promise<unknown>): Promise<void>
  end(isCommitted: boolean): Promise<void>
}

function open(db: Database, of: Scope | undefined): OpenTransaction {
  type Change = { readonly change?: (tx: Tx) => Promise<unknown>; readonly done: () => void }
  let next = Promise.withResolvers<Change>()
  let isKept = true
  const ended = db
    .write(
      async (tx) => {
        for (;;) {
          const { change, done } = await next.promise
          if (!change) break
          next = Promise.withResolvers()
          await change(tx)
          await tx.get(sql`SELECT 1 AS sent`)
          done()
        }
        if (!isKept) throw new Error('rolled back')
      },
      { scope: of },
    )
    .catch((error: Error) => {
      if (error.message !== 'rolled back') throw error
    })
  return {
    run: (change) =>
      Promise.race([new Promise<void>((done) => next.resolve({ change, done })), ended]),
    end(isCommitted) {
      isKept = isCommitted
      next.resolve({ done() {} })
      return ended
    },
  }
}

/** Transactions of other tests can each delay a read once. */
const READS_MAX = 100

function follow(feed: Feed, of: Scope, start: FeedCursor) {
  let cursor = start
  const ids: number[] = []
  const read = async () => {
    const batch = await feed.after(of, cursor)
    cursor = batch.cursor
    ids.push(...batch.rows.map((row) => JSON.parse(row[6] as string).id as number))
  }
  return {
    ids,
    read,
    /** Reads until there are `count` events. */
    async readTo(count: number) {
      for (let reads = 0; reads < READS_MAX && ids.length < count; reads++) await read()
    },
  }
}

for (const [name, of, isHeld] of [
  ['of another scope does not hold a feed back', other, false],
  ['of its own scope holds a feed back', scope, true],
  ['of any scope holds a feed back', undefined, true],
] as const) {
  test(`an open transaction ${name} [postgres]`, async (t) => {
    const db = await postgres.openMigrated(t)
    const feed = createFeed(db, wallClock)
    const reader = follow(feed, scope, await feed.end(scope))
    const long = open(db, of)
    onEnd(t, () => long.end(false))
    await long.run((tx) => addEvent(tx, 1, of ?? scope))
    await db.write((tx) => addEvent(tx, 2, scope), { scope })
    const late = follow(feed, scope, await feed.end(scope))
    for (let reads = 0; isHeld && reads < 5; reads++) await reader.read()
    if (!isHeld) await reader.readTo(1)
    assert.deepEqual(reader.ids, isHeld ? [] : [2])
    await long.end(true)
    await reader.readTo(isHeld ? 2 : 1)
    assert.deepEqual(reader.ids, isHeld ? [1, 2] : [2])
    await db.write((tx) => addEvent(tx, 3, scope), { scope })
    await late.readTo(isHeld ? 3 : 1)
    assert.deepEqual(late.ids, isHeld ? [1, 2, 3] : [3], 'a stream that began meanwhile')
  })
}

eachMigrated('a transaction of one scope records no event of another', async (db) => {
  const writing = db.write((tx) => addEvent(tx, 1, other), { scope })
  await assert.rejects(writing, /bug: an event of scope 3 in a transaction of scope 2/)
  assert.deepEqual(await db.arrays(sql`SELECT id FROM gh_events`), [])
})

/** A session begins with a scope or without one, adds an event, or ends. */
const step = fc.record({
  session: fc.nat(3),
  of: fc.constantFrom(...SCOPES, undefined),
  eventOf: fc.constantFrom(...SCOPES),
  ends: fc.constantFrom('no', 'no', 'commit', 'roll back'),
  isRead: fc.boolean(),
})

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Held {
  readonly of: Scope | undefined
  readonly transaction: OpenTransaction
  readonly events: { readonly id: number; readonly eventOf: Scope }[]
}

test('feeds return each event of interleaved transactions once [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  let lastId = 0
  const runSteps = async (steps: readonly Step[]) => {
    const feed = createFeed(db, wallClock)
    const readers = new Map<Scope, ReturnType<typeof follow>>()
    for (const of of SCOPES) readers.set(of, follow(feed, of, await feed.end(of)))
    const committed = new Map<Scope, number[]>(SCOPES.map((of) => [of, []]))
    const sessions = new Map<number, Held>()
    const end = async (session: number, isCommitted: boolean) => {
      const { transaction, events } = sessions.get(session)!
      sessions.delete(session)
      await transaction.end(isCommitted)
      for (const { id, eventOf } of isCommitted ? events : []) committed.get(eventOf)!.push(id)
    }
    const requireAll = async (of: Scope) => {
      const reader = readers.get(of)!
      await reader.readTo(committed.get(of)!.length)
      const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b)
      assert.deepEqual(sorted(reader.ids), sorted(committed.get(of)!))
    }
    const runStep = async ({ session, of, eventOf, ends, isRead }: Step) => {
      const held = sessions.get(session) ?? { of, transaction: open(db, of), events: [] }
      sessions.set(session, held)
      if (ends === 'no') {
        const event = { id: ++lastId, eventOf: held.of ?? eventOf }
        await held.transaction.run((tx) => addEvent(tx, event.id, event.eventOf))
        held.events.push(event)
      } else await end(session, ends === 'commit')
      for (const of of isRead ? SCOPES : []) {
        await readers.get(of)!.read()
        const isFree = [...sessions.values()].every(
          (open) => open.of !== undefined && open.of !== of,
        )
        if (isFree) await requireAll(of)
      }
    }
    try {
      for (const step of steps) await runStep(step)
    } finally {
      for (const session of [...sessions.keys()]) await end(session, true)
    }
    for (const of of SCOPES) await requireAll(of)
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), runSteps), {
    numRuns: 25,
    seed: 11,
    endOnFailure: true,
  })
})
