/** §18.1: `gatehook_replication_lag_seconds` of a standby that streams from the primary. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin, withName } from '../../../../test/rig/postgres.ts'
import { openPair } from '../../../../test/rig/standby.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { replicationMetric } from '../../src/operate/system/replication.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'

test('the lag grows while a standby replays nothing, and is 0 once it has all', async (t) => {
  const { standby, url } = await openPair(t)
  const readerOf = async (address: string) => {
    const db = await openDatabase(address, { log: quietLog })
    onEnd(t, () => db.close())
    return replicationMetric(db, wallClock).read
  }
  const readPrimary = await readerOf(url)
  const lagOf = async () => {
    const samples = await readPrimary()
    assert.deepEqual(
      samples.map(({ labels }) => labels),
      [{ standby: 'standby' }],
    )
    return samples[0]!.value
  }
  await asAdmin(url, 'CREATE TABLE t (id INTEGER)')
  await eventually(lagOf, (lag) => lag === 0)

  await asAdmin(standby.url, 'SELECT pg_wal_replay_pause()')
  const writeAndRead = async () => {
    await asAdmin(url, 'INSERT INTO t VALUES (1)')
    return lagOf()
  }
  const first = await eventually(writeAndRead, (lag) => lag > 0)
  await eventually(writeAndRead, (lag) => lag > first)
  await asAdmin(standby.url, 'SELECT pg_wal_replay_resume()')
  await eventually(lagOf, (lag) => lag === 0)

  const ofStandby = withName(standby.url, new URL(url).pathname.slice(1))
  assert.deepEqual(await (await readerOf(ofStandby))(), [], 'a standby reports none')
  await asAdmin(url, "CREATE ROLE service LOGIN PASSWORD 'service'")
  const other = url.replace('postgres:postgres@', 'service:service@')
  assert.deepEqual(await (await readerOf(other))(), [], 'the role lacks pg_monitor')
  await asAdmin(url, 'GRANT pg_monitor TO service')
  assert.equal((await (await readerOf(other))()).length, 1)
})
