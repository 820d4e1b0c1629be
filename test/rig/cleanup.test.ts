/** Cleanups run in reverse order, also after a failure. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { emptyFolder, onEnd } from './cleanup.ts'

function createScope() {
  const hooks: (() => Promise<void>)[] = []
  return { after: (hook: () => Promise<void>) => void hooks.push(hook), hooks }
}

test('the last cleanup runs first, also after another failed', async () => {
  const scope = createScope()
  const order: number[] = []
  onEnd(scope, () => order.push(1))
  onEnd(scope, async () => {
    throw new Error('no')
  })
  onEnd(scope, async () => {
    await null
    order.push(3)
  })
  assert.equal(scope.hooks.length, 1)
  await assert.rejects(scope.hooks[0]!(), /^Error: no$/)
  assert.deepEqual(order, [3, 1])
})

test('a folder exists until later cleanups have run', async () => {
  const scope = createScope()
  const folder = emptyFolder(scope)
  let before = false
  onEnd(scope, () => {
    before = existsSync(folder)
  })
  await scope.hooks[0]!()
  assert.deepEqual([before, existsSync(folder)], [true, false])
})
