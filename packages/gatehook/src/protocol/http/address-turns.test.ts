/** §11.5: the work of many connections is spread over turns of the loop, by address. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { createAddressTurns } from './address-turns.ts'

/** Turns whose clock and event loop the test moves. */
function stage() {
  const done: string[] = []
  let nowMs = 0
  let after: (() => void)[] = []
  const { take, noteAccept } = createAddressTurns({ elapsedMs: () => nowMs }, (next) =>
    after.push(next),
  )
  return {
    done,
    noteAccept,
    /** Enters works of an address that take `ms` each. */
    enter(address: string, count: number, ms = 1) {
      for (let n = 0; n < count; n++) {
        take(
          () => address,
          () => {
            done.push(address)
            nowMs += ms
          },
        )
      }
    },
    throwAs: (address: string) =>
      take(
        () => address,
        () => {
          throw new Error('of this work')
        },
      ),
    pass: (ms: number) => {
      nowMs += ms
    },
    /** Returns how many works have begun in this turn. */
    runTurn() {
      const before = done.length
      const calls = after
      after = []
      try {
        while (calls.length > 0) calls.shift()!()
      } finally {
        after.unshift(...calls)
      }
      return done.length - before
    },
  }
}

const hostsOf = (addresses: readonly string[]) => addresses.map((name) => name.at(-1)).join('')

test('the work of a quiet server begins at once', () => {
  const { done, enter, runTurn } = stage()
  enter('192.0.2.1', 4)
  assert.equal(done.length, 4)
  assert.equal(runTurn(), 0)
  assert.equal(runTurn(), 0, 'an idle server has no turns')
})

test('a turn begins 5 ms of work, and addresses alternate', () => {
  const { done, enter, runTurn } = stage()
  enter('192.0.2.1', 20)
  assert.equal(done.length, 5)
  assert.equal(runTurn(), 0, 'the time of this turn is over')
  enter('192.0.2.2', 2)
  assert.deepEqual([runTurn(), hostsOf(done.slice(5))], [5, '12121'])
  assert.deepEqual([runTurn(), runTurn(), runTurn()], [5, 5, 2])
  enter('192.0.2.1', 1)
  assert.equal(done.length, 23, 'at once, when no other work waits')
})

test('the addresses of an IPv6 block take one turn', () => {
  const { done, enter, runTurn } = stage()
  for (let n = 1; n < 9; n++) enter(`2001:db8::${n}`, 1)
  enter('2001:db8:0:1::f', 1)
  runTurn()
  runTurn()
  assert.equal(hostsOf(done), '123456f78'.slice(0, done.length))
  assert.ok(done.length >= 7)
})

test('each turn begins some work, also if other work takes all of its time', () => {
  const { done, enter, pass, runTurn } = stage()
  enter('192.0.2.1', 3, 50)
  for (let n = 0; n < 3; n++) {
    pass(1000)
    runTurn()
  }
  assert.equal(done.length, 3)
})

test('work that throws stops no other', () => {
  const { done, enter, throwAs, runTurn } = stage()
  enter('192.0.2.1', 1, 5)
  throwAs('192.0.2.1')
  enter('192.0.2.1', 1)
  runTurn()
  assert.throws(runTurn, /of this work/)
  runTurn()
  assert.equal(done.length, 2)
})

test('work that waited has the context of its own request', () => {
  const requests = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  let nowMs = 0
  const after: (() => void)[] = []
  const { take } = createAddressTurns({ elapsedMs: () => nowMs }, (next) => {
    after.push(AsyncLocalStorage.bind(next)) // as a timer or a socket keeps the context
  })
  for (const name of ['a', 'b', 'c']) {
    const work = () => {
      seen.push(requests.getStore())
      nowMs += 100
    }
    requests.run(name, () => take(() => '192.0.2.1', work))
  }
  while (after.length > 0) after.shift()!()
  assert.deepEqual(seen, ['a', 'b', 'c'])
})

test('a turn that has accepted a connection begins little other work', () => {
  const { done, enter, noteAccept, runTurn } = stage()
  for (let count = 1; count <= 10; count++) {
    noteAccept()
    enter('192.0.2.1', 10)
    runTurn()
    assert.equal(done.length, count)
  }
  assert.ok(runTurn() >= 5, 'without a new connection')
})
