import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnectionPool } from './connection-pool.ts'

function createPool(maxIdle: number, maxIdlePerOrigin: number) {
  const closed: number[] = []
  let opened = 0
  const pool = createConnectionPool(
    (origin) => {
      const number = ++opened
      return { origin, number, destroy: () => void closed.push(number) }
    },
    { maxIdle, maxIdlePerOrigin },
  )
  return { ...pool, pool, closed }
}

test('the connection released last is acquired first, by its own origin only', () => {
  const { acquire, release } = createPool(9, 9)
  const [a, b] = [acquire('a'), acquire('a')]
  release(a)
  release(b)
  const numbers = ['b', 'a', 'a', 'a'].map((origin) => acquire(origin).number)
  assert.deepEqual(numbers, [3, b.number, a.number, 4])
})

test('idle connections are bounded per origin and in total; the oldest is closed', () => {
  const { acquire, release, closed, pool } = createPool(3, 2)
  for (const connection of ['a', 'a', 'a', 'b', 'b'].map(acquire)) release(connection)
  assert.deepEqual(closed, [3, 1], 'the third of a, then the oldest of all')
  assert.deepEqual([pool.idle, pool.size], [3, 3])
})

test('an idle connection that ended is closed; one in use stays until it is dropped', () => {
  const { acquire, release, onEnded, drop, closed, pool } = createPool(9, 9)
  const [a, b] = [acquire('a'), acquire('a')]
  release(a)
  onEnded(a)
  onEnded(b)
  assert.deepEqual([closed, pool.size], [[1], 1])
  drop(b)
  drop(b)
  release(b)
  assert.deepEqual([closed, pool.size, pool.idle], [[1, 2], 0, 0])
})

test('closing closes connections in use as well, and a later release has no effect', () => {
  const { acquire, release, close, closed, pool } = createPool(9, 9)
  const [a, b] = [acquire('a'), acquire('b')]
  release(a)
  close()
  release(b)
  assert.deepEqual([closed.sort(), pool.size, pool.idle], [[1, 2], 0, 0])
})
