import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from './failure.ts'
import { threadFailureOf } from './thread-failure.ts'

test('a thread that does not start is 503 with its cause; other errors stay', () => {
  const error = Object.assign(new Error('EMFILE'), { code: 'ERR_WORKER_INIT_FAILED' })
  const failure = threadFailureOf(error)
  assert.ok(failure instanceof Failure)
  assert.deepEqual([failure.code, failure.detail], ['overloaded', error])
  assert.match(failure.message, /file descriptors \(ulimit -n\)/)
  const bug = new TypeError('a bug')
  assert.equal(threadFailureOf(bug), bug)
})
