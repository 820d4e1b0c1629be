import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from './api.ts'
import { EXIT } from './errors.ts'
import { retryLimited } from './retry-limited.ts'

const rejection = (status: number, retryAfterS?: number) =>
  new ApiError('rejected', EXIT.failed, { status, body: {}, retryAfterS })

const rejectTimes = (count: number, error: Error) => () =>
  count-- > 0 ? Promise.reject(error) : Promise.resolve('created')

test('a 429 is retried after Retry-After; other failures are not', async () => {
  const waits: number[] = []
  const wait = async (ms: number) => waits.push(ms)
  assert.equal(await retryLimited(rejectTimes(2, rejection(429, 7)), wait), 'created')
  assert.equal(await retryLimited(rejectTimes(1, rejection(429)), wait), 'created')
  assert.deepEqual(waits, [7000, 7000, 1000])
  await assert.rejects(retryLimited(rejectTimes(1, rejection(409)), wait), ApiError)
  assert.equal(waits.length, 3)
})

test('a request that never fits fails after five waits', async () => {
  const waits: number[] = []
  const send = rejectTimes(99, rejection(429, 1))
  await assert.rejects(
    retryLimited(send, async (ms) => waits.push(ms)),
    ApiError,
  )
  assert.equal(waits.length, 5)
})
