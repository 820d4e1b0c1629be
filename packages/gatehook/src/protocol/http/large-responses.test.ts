/** §11.5: large responses take turns; beside others, a customer rests after one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEgress } from './egress.ts'

test('beside others, and not alone, a customer rests after a large response', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 10_000
  const { large, share } = createEgress({ elapsedMs: () => nowMs })
  const built: string[] = []
  const build = async (name: string) => {
    const response = {}
    await large.begin(response, { group: 'a', caller: 'a' })
    built.push(name)
    share.addWork('a', 25)
    large.end(response)
  }
  const advance = async (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 10; turns++) await undefined
  }
  await build('first')
  await build('second')
  await advance(1_000)
  share.note('b')
  await build('third')
  const fourth = build('fourth')
  await advance(599)
  assert.deepEqual(built, ['first', 'second', 'third'])
  await advance(1)
  await fourth
  assert.deepEqual(built, ['first', 'second', 'third', 'fourth'])
})

test('callers of a customer take turns, and wait for none of the other mode', async () => {
  const { large } = createEgress({ elapsedMs: () => 0 })
  const built: string[] = []
  const begin = async (group: string, caller: string) => {
    const response = {}
    await large.begin(response, { group, caller: `${group} ${caller}` })
    built.push(caller)
    return () => large.end(response)
  }
  const first = begin('live', 'busy')
  const others = Array.from({ length: 16 }, () => begin('live', 'busy'))
  const quiet = begin('live', 'quiet')
  await begin('test', 'test')
  assert.deepEqual(built, ['busy', 'test'])
  const endFirst = await first
  endFirst()
  const endQuiet = await quiet
  assert.deepEqual(built, ['busy', 'test', 'quiet'])
  endQuiet()
  await Promise.all(others.map(async (end) => (await end)()))
})
