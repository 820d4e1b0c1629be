import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBoard } from './board.ts'

const at = (text: string) => Date.parse(text)

function make(v1: object = {}) {
  const state = { now: at('2027-01-01'), base: 'http://127.0.0.1:0' }
  const board = createBoard({
    clock: { now: () => state.now, elapsedMs: () => 0 },
    definitions: [
      { name: 'v1', released: '2025-06-01', ...v1 },
      { name: 'v2', released: '2026-06-01' },
      { name: 'v3', released: '2026-09-01' },
    ],
    changes: [{ resource: 'boxes', version: 'v2', why: 'Sizes are numbers' }],
    publicUrl: () => state.base,
  })
  return { board, state }
}

test('a standing is kept until its time is over, or the address is known', () => {
  const { board, state } = make({ deprecated_at: at('2027-02-01'), sunset_at: at('2027-09-01') })
  const first = board.standing('v1')!
  assert.equal(first.headers, undefined)
  state.now = at('2027-02-01') - 1
  assert.equal(board.standing('v1'), first)
  state.now = at('2027-02-01')
  const second = board.standing('v1')!
  assert.equal(second.state, 'deprecated')
  assert.match(second.headers!.link!, /<http:\/\/127\.0\.0\.1:0\/api\/v2>/)
  state.base = 'https://api.example.com'
  assert.match(board.standing('v1')!.headers!.link!, /<https:\/\/api\.example\.com\/api\/v2>/)
  state.now = at('2027-01-15')
  assert.equal(board.standing('v1')!.state, 'supported', 'a clock set back by a second is followed')
})

test('an older revision that arrives late changes nothing', () => {
  const { board } = make()
  board.apply('v1', { deprecated_at: at('2026-01-01') }, 2)
  board.apply('v1', {}, 1)
  board.apply('v9', { deprecated_at: 0 }, 1)
  assert.equal(board.standing('v1')!.state, 'deprecated')
  board.apply('v1', {}, 3)
  assert.equal(board.standing('v1')!.state, 'supported')
})

test('the oldest and the living are those that are not retired', () => {
  const { board } = make()
  const gone = { deprecated_at: 0, sunset_at: 1 }
  assert.deepEqual([board.oldest(), board.living('v1'), board.living('v9')], ['v1', 'v1', 'v9'])
  board.apply('v1', gone, 1)
  assert.deepEqual([board.oldest(), board.living('v1')], ['v2', 'v2'])
  board.apply('v2', gone, 1)
  assert.deepEqual([board.oldest(), board.living('v1')], ['v3', 'v3'])
  board.apply('v3', gone, 1)
  assert.deepEqual([board.oldest(), board.living('v1')], ['v3', 'v3'], 'nothing else is left')
})

test('a warning tells what changed in the resource of the route, made once', () => {
  const { board } = make({ deprecated_at: 0 })
  const { warning } = board.standing('v1')!
  assert.match(warning('/api/boxes/:id').message, /What changes: Sizes are numbers\.$/)
  assert.match(warning('/api/other').message, /Move to v2\.$/)
  assert.equal(warning('/api/boxes/:id'), warning('/api/boxes/:id'))
})
