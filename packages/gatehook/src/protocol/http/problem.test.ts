import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import { formatProblem } from './problem.ts'

const context = {
  requestId: 'req_1',
  accept: undefined,
  path: '/api/v1/orders',
  documentation: 'https://api.example/docs/errors',
}
const errors = [{ pointer: '/total', code: 'too_small', message: 'At least 0.' }] as const

test('a failure is formatted as the envelope', () => {
  const answer = formatProblem(new Failure('validation_failed', 'No.', { errors }), context)
  assert.equal(answer.status, 422)
  assert.equal(answer.headers?.['content-type'], undefined)
  assert.deepEqual(JSON.parse(answer.json ?? ''), {
    error: 'validation_failed',
    message: 'No.',
    status: 422,
    request_id: 'req_1',
    documentation: 'https://api.example/docs/errors#validation_failed',
    errors,
  })
})

test('problem+json has the members of RFC 9457 and of the envelope', () => {
  const accept = 'application/problem+json'
  const answer = formatProblem(new Failure('not_found', 'No such order.'), { ...context, accept })
  assert.equal(answer.headers?.['content-type'], accept)
  assert.deepEqual(JSON.parse(answer.json ?? ''), {
    type: 'https://api.example/docs/errors#not_found',
    title: 'The path or resource does not exist.',
    status: 404,
    detail: 'No such order.',
    instance: '/api/v1/orders',
    error: 'not_found',
    message: 'No such order.',
    request_id: 'req_1',
    documentation: 'https://api.example/docs/errors#not_found',
  })
})

test('a response has the headers of a failure, but not its details for the log', () => {
  const headers = { 'www-authenticate': 'Bearer' }
  const failure = new Failure('unauthorized', undefined, { headers, detail: 'secret reason' })
  const answer = formatProblem(failure, context)
  assert.deepEqual(answer.headers, headers)
  assert.doesNotMatch(answer.json ?? '', /secret reason/)
})

test('an internal error has no details except the request id', () => {
  const answer = formatProblem(new Failure('internal_error'), context)
  assert.deepEqual(Object.keys(JSON.parse(answer.json ?? '')), [
    'error',
    'message',
    'status',
    'request_id',
  ])
})
