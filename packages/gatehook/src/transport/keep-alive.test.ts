import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepConnections } from './keep-alive.ts'

function pool(maxIdle: number, maxIdlePerOrigin: number) {
  const closed: number[] = []
  let made = 0
  const lines = keepConnections(
    (origin) => {
      const n = ++made
      return { origin, n, destroy: () => void closed.push(n) }
    },
    { maxIdle, maxIdlePerOrigin },
  )
  return { ...lines, lines, closed }
}

test('the last one given back is taken first, and only by its own origin', () => {
  const { take, giveBack } = pool(9, 9)
  const [a, b] = [take('a'), take('a')]
  giveBack(a)
  giveBack(b)
  assert.deepEqual([take('b').n, take('a').n, take('a').n, take('a').n], [3, b.n, a.n, 4])
})

test('what waits is bounded per origin and in all; the longest waiting goes', () => {
  const { take, giveBack, closed, lines } = pool(3, 2)
  const all = ['a', 'a', 'a', 'b', 'b'].map(take)
  for (const one of all) giveBack(one)
  assert.deepEqual(closed, [3, 1], 'the third of a, then the oldest of all')
  assert.deepEqual([lines.idle, lines.size], [3, 3])
})

test('a waiting one that ended by itself is forgotten, a lent one is its borrower’s', () => {
  const { take, giveBack, lost, drop, closed, lines } = pool(9, 9)
  const [a, b] = [take('a'), take('a')]
  giveBack(a)
  lost(a)
  lost(b)
  assert.deepEqual([closed, lines.size], [[1], 1])
  drop(b)
  drop(b)
  giveBack(b)
  assert.deepEqual([closed, lines.size, lines.idle], [[1, 2], 0, 0])
})

test('closing closes the lent ones, too, and takes nothing back', () => {
  const { take, giveBack, close, closed, lines } = pool(9, 9)
  const [a, b] = [take('a'), take('b')]
  giveBack(a)
  close()
  giveBack(b)
  assert.deepEqual([closed.sort(), lines.size, lines.idle], [[1, 2], 0, 0])
})
