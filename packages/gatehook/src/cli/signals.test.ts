import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSignalCounter } from './signals.ts'

function counter(isForwarded: boolean) {
  let now = 0
  const clock = { elapsedMs: () => now }
  const receive = createSignalCounter({ clock, isForwarded })
  return (name: string, afterMs: number) => {
    now += afterMs
    return receive(name)
  }
}

test('a second signal ends the process at once', () => {
  const receive = counter(false)
  assert.deepEqual([receive('SIGTERM', 0), receive('SIGTERM', 0)], ['first', 'further'])
})

test('the copy of a signal that npm forwards does not', () => {
  const receive = counter(true)
  assert.deepEqual([receive('SIGTERM', 5), receive('SIGTERM', 299)], ['first', 'copy'])
  assert.equal(receive('SIGTERM', 0), 'further', 'a signal has one copy')
  const late = counter(true)
  assert.deepEqual([late('SIGTERM', 0), late('SIGTERM', 300)], ['first', 'further'])
  const other = counter(true)
  assert.deepEqual([other('SIGTERM', 0), other('SIGINT', 0)], ['first', 'further'])
})
