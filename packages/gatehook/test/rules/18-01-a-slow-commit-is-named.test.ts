/** §18.1: a slow commit is named with what it waits for: a standby, the disk, a setting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { createCommitTime, describeCommit } from '../../src/operate/system/commit-time.ts'
import { createRoundTrip } from '../../src/operate/system/round-trip.ts'
import {
  type CommitWaits,
  parseCommitWaits,
  selectCommitWaits,
} from '../../src/platform/storage/commit-waits.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const NONE: CommitWaits = { waiting: 0, waitedMs: 0, delayMs: 0, standby: null, lagMs: 0 }

test('a sentence says what commits wait for', () => {
  for (const [ms, waits, sentence] of [
    [undefined, undefined, undefined],
    [20, { ...NONE, standby: 's1', lagMs: 19 }, undefined],
    [
      480,
      { ...NONE, standby: 's1', lagMs: 450 },
      'A commit takes 480 ms, 450 ms of them for the standby s1: its disk or network is slow.',
    ],
    [
      160,
      { ...NONE, standby: 's1', lagMs: 10, delayMs: 100 },
      'A commit takes 160 ms: the disk of the database is slow or overloaded, and commit_delay ' +
        'is 100 ms.',
    ],
    [160, undefined, 'A commit takes 160 ms: the disk of the database is slow or overloaded.'],
    [
      undefined,
      { ...NONE, waiting: 11, waitedMs: 4_200, standby: 's1' },
      '11 commits wait for the standby s1, the oldest for 4 s: it hangs or is overloaded, or its ' +
        'network loses packets. Their locks wait with them.',
    ],
    [
      undefined,
      { ...NONE, waiting: 1, waitedMs: 2_000 },
      '1 commit waits for a synchronous standby, the oldest for 2 s: it hangs or is overloaded, ' +
        'or its network loses packets. Their locks wait with them.',
    ],
  ] as const) {
    assert.equal(describeCommit(ms, waits), sentence)
  }
})

test('the shortest of three writes counts, without its round trips', async () => {
  const commitTime = createCommitTime({ name: 'postgres' }, () => 10)
  const read = () => commitTime.metric.read()
  for (const ms of [500, 300]) commitTime.note(ms)
  assert.deepEqual(await read(), [])
  commitTime.note(230)
  assert.deepEqual(await read(), [{ value: 0.2 }])
  assert.deepEqual(await commitTime.warning(), {
    message: 'Commits of the database are slow.',
    detail: 'A commit takes 200 ms: the disk of the database is slow or overloaded.',
  })
  for (const ms of [12, 400, 400]) commitTime.note(ms)
  assert.equal(await commitTime.warning(), undefined)
})

test('writes over a path that has become slow blame no disk', () => {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const roundTrip = createRoundTrip({ db: { name: 'postgres' }, clock })
  const commitTime = createCommitTime({ name: 'postgres' }, roundTrip.shortestMs)
  const poll = (ms: number) => {
    roundTrip.polled[0]!.select()
    clock.ms += ms
    roundTrip.polled[0]!.receive(0, clock.ms)
  }
  for (const ms of [1, 1, 1, 70, 70]) poll(ms)
  for (let n = 0; n < 3; n++) commitTime.note(210)
  assert.equal(commitTime.warning(), undefined, 'the shortest of five polls is still 1 ms')
  for (const ms of [1, 1]) poll(ms)
  assert.equal(commitTime.warning(), undefined, 'the path has recovered')
  for (let n = 0; n < 3; n++) commitTime.note(210)
  assert.ok(commitTime.warning(), 'the path is fast, and commits are slow')
  poll(70)
  roundTrip.polled[0]!.select()
  clock.ms += 400
  for (let n = 0; n < 3; n++) commitTime.note(210)
  assert.equal(commitTime.warning(), undefined, 'a poll has no answer')
})

test('a server without standbys delays no commit', async (t) => {
  const db = await openForTest(t, await freshUrl(t, 'postgres'))
  const [row] = await db.arrays(sql`SELECT ${selectCommitWaits(db)!}`)
  assert.deepEqual(parseCommitWaits(row![0]!), NONE)
  assert.equal(selectCommitWaits({ name: 'sqlite' }), undefined)
})
