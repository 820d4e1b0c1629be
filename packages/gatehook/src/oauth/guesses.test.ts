import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createGuesses } from './guesses.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const heapBytes = () => {
  collect()
  return process.memoryUsage().heapUsed
}

test('names as long as a body may be do not fill the memory', () => {
  const guesses = createGuesses({ now: () => 0 })
  const before = heapBytes()
  for (let n = 0; n < 100; n++) {
    guesses.failed(Buffer.alloc(500_000, `${n} `).toString('latin1'), '203.0.113.7')
  }
  assert(heapBytes() - before < 10_000_000)
  guesses.refuse('', '203.0.113.7')
})

test('failures count by client and address, and are forgotten after a while', () => {
  let now = 0
  const guesses = createGuesses({ now: () => now })
  for (let n = 0; n < 20; n++) guesses.failed('one', '203.0.113.7')
  assert.throws(() => guesses.refuse('one', '203.0.113.7'), { code: 'rate_limited' })
  guesses.refuse('one', '203.0.113.8')
  guesses.refuse('two', '203.0.113.7')
  now += 5 * 60_000
  guesses.refuse('one', '203.0.113.7')
})
