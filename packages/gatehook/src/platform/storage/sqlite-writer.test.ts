/** §11.5: a commit blocks reads and writes, so it counts as work of the customers that wrote. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { createLog } from '../../kernel/log.ts'
import { budgetOf } from './change-budget.ts'
import { WriteQueue, type WriterConnection } from './sqlite-writer.ts'

/** A queue whose commits take as long as the test says, on its clock. */
function createRig() {
  let nowMs = 0
  const state = { commitMs: 0, begun: [] as string[] }
  const connection: WriterConnection = {
    async begin() {},
    async commit() {
      nowMs += state.commitMs
    },
    rollback() {},
    savepoint() {},
    release() {},
    rollbackToSavepoint() {},
    inTransaction: true,
    perform: (_transaction, change) => change({} as never),
    async sync() {},
  }
  const queue = new WriteQueue(connection, createLog({ level: 'silent' }), {
    elapsedMs: () => nowMs,
  })
  const write = (customer: string, name: string, ms = 1, bytes = 0) =>
    queue.write(
      async (tx) => {
        budgetOf(tx).charge({ bytes })
        state.begun.push(name)
        nowMs += ms
      },
      { customer },
    )
  return { queue, state, write }
}

test('a customer rests after a transaction with a long commit', async () => {
  const { queue, state, write } = createRig()
  await write('quiet', 'quiet 1')
  state.commitMs = 50
  await write('noisy', 'noisy 1')
  state.commitMs = 0
  const all = [write('noisy', 'noisy 2'), write('quiet', 'quiet 2')]
  await all[1]
  assert.deepEqual(state.begun, ['quiet 1', 'noisy 1', 'quiet 2'])
  await queue.drain()
  await Promise.all(all)
  assert.equal(state.begun.at(-1), 'noisy 2')
})

test('the commit of a long transaction does not count for a short one beside it', async () => {
  const { queue, state, write } = createRig()
  await write('quiet', 'quiet 1')
  state.commitMs = 50
  await Promise.all([write('other', 'other 1', 0.1), write('noisy', 'noisy 1', 19)])
  state.commitMs = 0
  const all = [write('noisy', 'noisy 2'), write('other', 'other 2'), write('quiet', 'quiet 2')]
  await all[1]
  assert.deepEqual(state.begun.slice(3), ['other 2', 'quiet 2'])
  await queue.drain()
  await Promise.all(all)
})

test('a customer rests after a change of a tenth of a bound, which is shorter', async () => {
  const { queue, state, write } = createRig()
  await write('quiet', 'quiet 1')
  await write('noisy', 'noisy 1', 10, 1_000_000)
  const all = [write('noisy', 'noisy 2'), write('quiet', 'quiet 2')]
  await all[1]
  assert.deepEqual(state.begun, ['quiet 1', 'noisy 1', 'quiet 2'])
  await queue.drain()
  await Promise.all(all)
})

/** The rights of a caller, and the end of their verification. */
function createAuthority() {
  const verification = Promise.withResolvers<void>()
  const state = { isOld: true, verified: 0 }
  const authority = {
    hasOldAuthority: () => state.isOld,
    async requireAuthority() {
      state.verified += 1
      await verification.promise
      state.isOld = false
    },
  }
  const { resolve, reject } = verification
  return { resolve, reject, state, authority }
}

test('a caller is verified at its turn, beside the writes of others', async () => {
  const { queue, state } = createRig()
  const [valid, lost] = [createAuthority(), createAuthority()]
  const writeAs = (name: string, options: object) =>
    queue.write(async () => void state.begun.push(name), options)
  const [first, second] = [
    writeAs('valid', { authority: valid.authority }),
    writeAs('lost', { authority: lost.authority }),
  ]
  await writeAs('other', {})
  assert.deepEqual(state.begun, ['other'])
  assert.equal(queue.length, 2)
  lost.reject(new Error('revoked'))
  await assert.rejects(second, /revoked/)
  const closing = queue.drain()
  valid.resolve()
  await Promise.all([first, closing])
  assert.deepEqual(state.begun, ['other', 'valid'])
  assert.deepEqual([valid.state.verified, lost.state.verified], [1, 1])
})

test('no long transaction takes the turn of a write whose caller is verified', async () => {
  const { queue, state, write } = createRig()
  await write('noisy', 'noisy 1', 1_000)
  await write('quiet', 'quiet 1')
  const { state: rights, resolve, authority } = createAuthority()
  const verified = queue.write(async () => void state.begun.push('verified'), { authority })
  const noisy = write('noisy', 'noisy 2', 1_000)
  while (rights.verified === 0) await nextTick()
  const closing = queue.drain()
  for (let tick = 0; tick < 20; tick++) await nextTick()
  assert.deepEqual(state.begun, ['noisy 1', 'quiet 1'])
  resolve()
  await Promise.all([verified, noisy, closing])
  assert.deepEqual(state.begun.slice(2), ['verified', 'noisy 2'])
})

test('a caller is verified once, also if its turn comes much later', async () => {
  const { queue } = createRig()
  const { state, authority } = createAuthority()
  const requireAuthority = async () => void (state.verified += 1)
  await queue.write(async () => {}, { authority: { ...authority, requireAuthority } })
  assert.deepEqual(state, { isOld: true, verified: 1 })
})

test('a caller that was verified a moment ago is not verified at its turn', async () => {
  const { queue } = createRig()
  const { state, authority } = createAuthority()
  state.isOld = false
  await queue.write(async () => {}, { authority })
  assert.equal(state.verified, 0)
})
