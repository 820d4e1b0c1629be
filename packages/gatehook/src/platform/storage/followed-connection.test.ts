/** Connections behind a pooler: a small pool, and a network that loses them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  FollowedConnection,
  FollowedConnections,
  type ServerAnswer,
  type WatchedConnection,
} from './followed-connection.ts'
import { STATEMENT_MS } from './postgres-hosts.ts'

const MINUTE_TICKS = 240
/** The answer of a probe through the pooler, which reports no session. */
const ANSWER: ServerAnswer = { sessions: new Map(), limitMs: STATEMENT_MS }

function openPool() {
  const followed = new FollowedConnections()
  const open = () => {
    const stream = { bytesRead: 0, bytesWritten: 0, destroy: () => followed.delete(connection) }
    const connection = new FollowedConnection(
      { stream } as unknown as WatchedConnection,
      true,
      true,
    )
    followed.add(connection)
    connection.open()
    connection.answer('I')
    connection.identify(1)
    return Object.assign(connection, { stream })
  }
  const [served, waiting] = [open(), open()]
  /** Passes time while the pooler serves the first connection, and probes if it answers them. */
  const pass = (ticks: number, answersProbes: boolean) => {
    for (let tick = 0; tick < ticks; tick++) {
      served.stream.bytesRead++
      followed.tick(true)
      if (answersProbes && tick % 4 === 3) followed.cutHung(followed.listSlow(), ANSWER)
    }
  }
  served.add('SELECT 1')
  waiting.add('BEGIN')
  return { followed, served, waiting, open, pass }
}

test('a pool that begins no transaction, and no later probe, is small', () => {
  const { followed, pass } = openPool()
  pass(8, false)
  assert.equal(followed.areStarved, true)
})

test('a transaction that a later probe overtakes is lost: no pool is small for a minute', () => {
  const { followed, open, pass } = openPool()
  pass(4, true)
  assert.equal(followed.areStarved, false, 'the first probe has its answer')
  for (let tick = 0; followed.listSlow().length > 0; tick++) {
    assert.ok(tick < MINUTE_TICKS, 'it is cut')
    pass(1, false)
    followed.cutHung(followed.listSlow(), ANSWER)
  }
  open().add('BEGIN')
  pass(8, false)
  assert.equal(followed.areStarved, false, 'another one of the same time')
  pass(MINUTE_TICKS, false)
  assert.equal(followed.areStarved, true, 'a minute later it is a small pool')
})

test('a full pool that keeps a transaction beyond its limit remains a small one', () => {
  const { followed, pass } = openPool()
  pass(STATEMENT_MS / 250 + 12, false)
  const { count } = followed.cutHung(followed.listSlow(), { limitMs: STATEMENT_MS })
  assert.deepEqual([count, followed.areStarved], [1, true])
})
