/** §3.10: a change takes effect on every node within two seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLookupCache } from './lookup-cache.ts'

/** A cache over one stored value, the lookups it started, and a clock to move. */
function cacheOf(runInBackground?: (lookup: Promise<unknown>) => void) {
  const time = { ms: 0 }
  const row: { value: string | undefined } = { value: 'old' }
  const lookups: (string | undefined)[] = []
  const cache = createLookupCache<number, string>({
    clock: { elapsedMs: () => time.ms },
    async load(_id, cached) {
      lookups.push(cached)
      return row.value
    },
    ...(runInBackground && { runInBackground }),
  })
  return { cache, time, row, lookups }
}

test('concurrent calls share a lookup, and its value is used for less than a second', async () => {
  const { cache, time, row, lookups } = cacheOf()
  assert.deepEqual(await Promise.all([cache.get(1), cache.get(1)]), ['old', 'old'])
  row.value = 'new'
  time.ms = 999
  assert.equal(cache.get(1), 'old')
  assert.equal(cache.peek(1), 'old')
  time.ms = 1000
  assert.equal(cache.peek(1), undefined)
  assert.equal(await cache.get(1), 'new')
  assert.deepEqual(lookups, [undefined, 'old'])
})

test('a value of half a second is used once more, and looked up in the background', async () => {
  const background: Promise<unknown>[] = []
  const { cache, time, row } = cacheOf((lookup) => background.push(lookup))
  await cache.get(1)
  row.value = 'new'
  time.ms = 500
  assert.equal(cache.get(1), 'old')
  assert.equal(cache.get(1), 'old')
  assert.equal(background.length, 1)
  await background[0]
  assert.equal(cache.get(1), 'new')
})

test('a lookup that an eviction overtakes is not cached', async () => {
  const { cache, row, lookups } = cacheOf()
  const overtaken = cache.get(1)
  row.value = 'new'
  cache.evict(1)
  assert.equal(await overtaken, 'old')
  assert.equal(cache.peek(1), undefined)
  assert.equal(await cache.get(1), 'new')
  cache.evict()
  assert.equal(cache.peek(1), undefined)
  assert.equal(lookups.length, 2)
})

test('an absent row is not cached', async () => {
  const { cache, row, lookups } = cacheOf()
  row.value = undefined
  assert.equal(await cache.get(1), undefined)
  assert.equal(await cache.get(1), undefined)
  assert.equal(lookups.length, 2)
})
