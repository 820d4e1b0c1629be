/** §11.5: long reads that follow one another let the log of SQLite begin again. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { createLongReads } from '../../src/platform/storage/sqlite-long-reads.ts'
import { createTransactionGuard } from '../../src/platform/storage/transaction.ts'

test('a read waits for those that have begun, and until the log has begun again', async (t) => {
  const file = join(emptyFolder(t), 'gatehook.db')
  const db = openDatabase(`sqlite:${file}`, { log: quietLog })
  onEnd(t, async () => (await db).close())
  await db
  let isHeld = false
  let pauses = 0
  const log = {
    isHeld: () => isHeld,
    notePause() {
      pauses += 1
      isHeld = false
    },
  }
  const clock = { elapsedMs: () => 0 }
  const reads = createLongReads(file, { guard: createTransactionGuard(), clock, log })
  onEnd(t, () => reads.close())
  const order: string[] = []
  const goOn = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const first = reads.take(1, async () => {
    order.push('first')
    begun.resolve()
    await goOn.promise
    order.push('first ends')
  })
  await begun.promise
  isHeld = true
  const second = reads.take(2, async () => order.push('second'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(order, ['first'])
  goOn.resolve()
  await Promise.all([first, second])
  assert.deepEqual(order, ['first', 'first ends', 'second'])
  assert.equal(pauses, 1)
})
