/** §17.2: lists and feeds of a standby skip no event, whose transaction may still be open. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'
import { createFeed, unorderedClock } from '../../src/history/events/feed.ts'
import { findCustomer } from '../../src/identity/access/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import type { FeedCursor } from '../../src/platform/storage/commit-feed.ts'
import { pay } from '../webhooks/hook.ts'

test('a list of a standby ends before open transactions, whose events follow', async (t) => {
  const { primary, standby, url, readUrl } = await openPair(t, [
    'fsync=off',
    'max_prepared_transactions=2',
  ])
  let elapsedMs = 0
  const clock = { ...wallClock, elapsedMs: () => elapsedMs }
  const env = { GATEHOOK_DATABASE_READ_URLS: readUrl, GATEHOOK_RATE_LIMIT: '0' }
  const node = await openService(t, 'postgres', { url, env, clock })
  const live = node.as(await node.key({ mode: 'live' }))
  const post = async () => (await pay(live, 1)).body.id as string
  const [first, second] = [await post(), await post()]
  const client = new pg.Client(url)
  await client.connect()
  await client.query('BEGIN')
  const late = first.replace(/.{4}$/, 'Late')
  await client.query(
    `INSERT INTO gh_events (scope, id, type, shape, object, created)
     SELECT scope, $1, type, shape, object, created FROM gh_events WHERE id = $2`,
    [late, first],
  )
  // A prepared transaction outlives the crash of its server.
  await client.query(`PREPARE TRANSACTION 'late'`)
  await client.end()
  const third = await post()
  const scope = scopeOf((await findCustomer(node.app.db, 'cus_default'))!.no, 'live')

  await awaitReplay({ primary, standby })
  const poll = async (cursor = '') => {
    elapsedMs += 200 // each read compares the standby with the primary
    const { status, body } = await live.get(`/events?limit=1&type=payment.succeeded${cursor}`)
    if (status !== 200) return { ids: [], next: null }
    return { ids: body.data.map(({ id }: { id: string }) => id), next: body.cursors.next }
  }
  await eventually(poll, ({ ids }) => ids.length > 0)
  await primary.halt('immediate')
  const begun = await eventually(poll, ({ ids }) => ids.length > 0)
  assert.deepEqual(begun.ids, [first])
  const onStandby = await poll(`&cursor=${begun.next}`)
  assert.deepEqual(onStandby, { ids: [second], next: null })
  const feed = createFeed(await openForTest(t, readUrl), unorderedClock)
  let cursor: FeedCursor = { txid: 0, position: 0 }
  const fed: unknown[] = []
  // The second read after the last event notes what holds others back, and the third decides.
  for (let n = 0; n < 4; n++) {
    const batch = await feed.after(scope, cursor)
    cursor = batch.cursor
    fed.push(...batch.rows.map(([id]) => id))
  }
  assert.ok(fed.includes(second))
  assert.ok(!fed.includes(third))

  await primary.start()
  await queryAsAdmin(url, `COMMIT PREPARED 'late'`)
  const ended = await eventually(
    () => poll(`&cursor=${begun.next}`),
    ({ next }) => next,
  )
  assert.deepEqual(ended.ids, [second])
  const lateOne = await poll(`&cursor=${ended.next}`)
  assert.deepEqual(lateOne.ids, [late])
  assert.deepEqual((await poll(`&cursor=${lateOne.next}`)).ids, [third])
})
