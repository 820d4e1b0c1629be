/** §11.5: beside others, a customer rests after a large response. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEgress } from './egress.ts'

test('beside others, and not alone, a customer rests after a large response', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 10_000
  const { large, activity } = createEgress({ elapsedMs: () => nowMs })
  const built: string[] = []
  const build = async (name: string) => {
    const response = {}
    await large.begin(response, 'a')
    built.push(name)
    activity.addWork('a', 50)
    large.end(response)
  }
  const advance = async (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 10; turns++) await undefined
  }
  await build('first')
  await build('second')
  activity.note('b')
  await build('third')
  const fourth = build('fourth')
  await advance(449)
  assert.deepEqual(built, ['first', 'second', 'third'])
  await advance(1)
  await fourth
  assert.deepEqual(built, ['first', 'second', 'third', 'fourth'])
})
