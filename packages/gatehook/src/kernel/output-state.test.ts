/** Faults of standard output: a failed write, no reader, one that is too slow, one that ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOutputState } from './output-state.ts'

function createState() {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  return { clock, state: createOutputState(clock) }
}

test('a failed write is a fault until the lines that wait are written', () => {
  const { state } = createState()
  state.pass(2)
  assert.equal(state.fault(), undefined)
  state.noteError('ENOSPC')
  state.pass(1)
  state.noteWrite() // a part of a line fits
  state.noteError('ENOSPC')
  assert.deepEqual(
    [state.fault(), state.counts()],
    [{ code: 'ENOSPC' }, { waiting: 3, dropped: 0 }],
  )
  state.noteWrite()
  state.noteDrain()
  assert.deepEqual([state.fault(), state.counts().waiting], [undefined, 0])
})

test('lines that no reader takes for ten seconds are a fault', () => {
  const { clock, state } = createState()
  clock.ms = 60_000 // an idle log is none
  state.pass(1)
  clock.ms += 9_999
  assert.equal(state.fault(), undefined)
  clock.ms += 1
  assert.deepEqual(state.fault(), { code: undefined })
  state.noteWrite()
  assert.equal(state.fault(), undefined)
})

test('dropped lines are counted, and a fault for a minute', () => {
  const { clock, state } = createState()
  state.pass(5)
  state.drop(5)
  state.noteDrain()
  assert.deepEqual([state.fault(), state.counts().dropped], [{ code: undefined }, 5])
  clock.ms += 60_000
  assert.deepEqual([state.fault(), state.counts().dropped], [undefined, 5])
})

test('after the end of the reader all lines are dropped', () => {
  const { state } = createState()
  state.pass(1)
  state.noteError('EPIPE')
  state.pass(2)
  assert.deepEqual([state.fault(), state.counts()], [{ code: 'EPIPE' }, { waiting: 0, dropped: 3 }])
})
