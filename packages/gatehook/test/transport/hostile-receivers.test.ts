/** §9.6, §9.9: hostile receivers cost the sender a bounded amount of time and memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../src/outbound/transport/attempt.ts'
import { hostile } from './hostile.ts'
import { createReceiver, createTestTransport, response, statusOrReason } from './receivers.ts'

/** Longer than a busy machine takes to send a request. */
const SHORT_TIMEOUT_MS = 1_000

for (const { does, behaviour, expected, loggedLength, isShort } of hostile) {
  test(`a receiver ${does}: ${expected}`, async (t) => {
    const { url, requests } = await createReceiver(t, behaviour)
    const { post } = createTestTransport(t)
    const outcome = await post(url, '{}', isShort ? SHORT_TIMEOUT_MS : undefined)
    assert.equal(statusOrReason(outcome), expected)
    if (loggedLength !== undefined) assert.equal(bodyOf(outcome).length, loggedLength)
    assert.equal(requests.length, 1)
  })
}

const bodyOf = (outcome: Outcome) => (outcome.kind === 'answered' ? outcome.body : '')

test('a redirect is not followed', async (t) => {
  const { url, requests } = await createReceiver(t, (socket) =>
    socket.write(response('', 302, ['Location: /hook?a=1'])),
  )
  const { post } = createTestTransport(t)
  for (const status of [302, 302]) assert.equal(statusOrReason(await post(url)), status)
  assert.equal(requests.length, 2)
})

test('bytes after a response are not the response to the next request', async (t) => {
  const { url } = await createReceiver(t, (socket, n) =>
    socket.write(n === 1 ? response('one') + response('forged') : response('two')),
  )
  const { post } = createTestTransport(t)
  assert.equal(bodyOf(await post(url)), 'one')
  assert.notEqual(bodyOf(await post(url)), 'forged')
})

test('the outcome contains at most 4 KiB of headers, __proto__ included', async (t) => {
  const many = Array.from({ length: 50 }, (_, n) => `x-${n}: ${'a'.repeat(200)}`)
  const { url } = await createReceiver(t, (socket) =>
    socket.write(response('', 200, ['__proto__: p', ...many])),
  )
  const outcome = await createTestTransport(t).post(url)
  assert.ok(outcome.kind === 'answered')
  assert.ok(Object.hasOwn(outcome.headers, '__proto__'))
  assert.ok(JSON.stringify(outcome.headers).length < 6_000)
})

test('after hundreds of hostile attempts, every open socket is idle', async (t) => {
  const behaviours = hostile.filter(({ isShort }) => isShort !== true)
  let count = 0
  const { url } = await createReceiver(t, (socket) =>
    behaviours[count++ % behaviours.length]!.behaviour(socket),
  )
  const { post, connections } = createTestTransport(t)
  for (let round = 0; round < 10; round++) {
    const outcomes = await Promise.all(behaviours.map(() => post(url)))
    for (const outcome of outcomes) assert.notEqual(statusOrReason(outcome), 'timeout')
  }
  assert.equal(connections().open, connections().idle)
})
