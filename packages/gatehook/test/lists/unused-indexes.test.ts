/** An index that the new declaration does not use remains while nodes of the previous one run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { createIndexBuilder } from '../../src/declare/resources/index-builds.ts'
import type { Database } from '../../src/platform/storage/database.ts'

test('a started service drops unused indexes after a delay', async () => {
  const changes = { missing: [], unused: ['notes_by_size'] }
  const open = (dropDelayMs?: number) => {
    const { promise: dropped, resolve } = Promise.withResolvers<readonly string[]>()
    let drops = 0
    const dropIndexes = async (names: readonly string[]) => {
      drops++
      resolve(names)
    }
    const db = { dropIndexes } as unknown as Database
    const builder = createIndexBuilder({ db, log: quietLog, changes, dropDelayMs })
    return { builder, dropped, countDrops: () => drops }
  }
  const early = open()
  await early.builder.finish(() => {})
  early.builder.start()
  await early.builder.stop()
  assert.equal(early.countDrops(), 0)
  const late = open(0)
  late.builder.start()
  assert.deepEqual(await late.dropped, changes.unused)
  await late.builder.stop()
})
