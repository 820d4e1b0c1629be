/**
 * §9.6, §9.9: what a receiver can do to its sender, and that it costs the sender next to nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../src/transport/attempt.ts'
import { hostile } from './hostile.ts'
import { answer, receiver, short, transport } from './receivers.ts'

const BRIEF_MS = 150

for (const { does, behaviour, gives, kept, brief } of hostile) {
  test(`a receiver ${does}: ${gives}`, async (t) => {
    const { url, requests } = await receiver(t, behaviour)
    const { post } = transport(t)
    const outcome = await post(url, '{}', brief ? BRIEF_MS : undefined)
    assert.equal(short(outcome), gives)
    if (kept !== undefined) assert.equal(bodyOf(outcome).length, kept)
    assert.equal(requests.length, 1)
  })
}

const bodyOf = (outcome: Outcome) => (outcome.kind === 'answered' ? outcome.body : '')

test('a redirect is an answer like any other: nobody follows it', async (t) => {
  const { url, requests } = await receiver(t, (socket) =>
    socket.write(answer('', 302, ['Location: /hook?a=1'])),
  )
  const { post } = transport(t)
  for (const status of [302, 302]) assert.equal(short(await post(url)), status)
  assert.equal(requests.length, 2)
})

test('what a receiver sends after its answer is no answer to the next request', async (t) => {
  const { url } = await receiver(t, (socket, n) =>
    socket.write(n === 1 ? answer('one') + answer('forged') : answer('two')),
  )
  const { post } = transport(t)
  assert.equal(bodyOf(await post(url)), 'one')
  assert.notEqual(bodyOf(await post(url)), 'forged')
})

test('headers of the answer are kept to 4 KiB, the names of objects among them', async (t) => {
  const many = Array.from({ length: 50 }, (_, n) => `x-${n}: ${'a'.repeat(200)}`)
  const { url } = await receiver(t, (socket) =>
    socket.write(answer('', 200, ['__proto__: p', ...many])),
  )
  const outcome = await transport(t).post(url)
  assert.ok(outcome.kind === 'answered')
  assert.ok(Object.hasOwn(outcome.headers, '__proto__'))
  assert.ok(JSON.stringify(outcome.headers).length < 6_000)
})

test('hundreds of hostile attempts leave no socket and no timer behind', async (t) => {
  const behaviours = hostile.filter(({ brief }) => brief !== true)
  let turn = 0
  const { url } = await receiver(t, (socket) =>
    behaviours[turn++ % behaviours.length]!.behaviour(socket),
  )
  const { post, connections } = transport(t)
  for (let round = 0; round < 10; round++) {
    const outcomes = await Promise.all(behaviours.map(() => post(url)))
    for (const outcome of outcomes) assert.notEqual(short(outcome), 'timeout')
  }
  assert.equal(connections().open, connections().idle)
})
