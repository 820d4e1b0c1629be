import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createSecretThrottle } from './secret-throttle.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const heapBytes = () => {
  collect()
  return process.memoryUsage().heapUsed
}

test('client ids of the length of a body do not fill the memory', () => {
  const throttle = createSecretThrottle({ now: () => 0 })
  const before = heapBytes()
  for (let n = 0; n < 100; n++) {
    throttle.recordFailure(Buffer.alloc(500_000, `${n} `).toString('latin1'), '203.0.113.7')
  }
  assert(heapBytes() - before < 10_000_000)
  throttle.check('', '203.0.113.7')
})

test('failures count per client and address, for 5 minutes', () => {
  let now = 0
  const throttle = createSecretThrottle({ now: () => now })
  for (let n = 0; n < 20; n++) throttle.recordFailure('client_1', '203.0.113.7')
  assert.throws(() => throttle.check('client_1', '203.0.113.7'), { code: 'rate_limited' })
  throttle.check('client_1', '203.0.113.8')
  throttle.check('client_2', '203.0.113.7')
  now += 5 * 60_000
  throttle.check('client_1', '203.0.113.7')
})
