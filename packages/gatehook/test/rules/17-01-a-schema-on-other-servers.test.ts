/** §17.1: a schema of its own behind PgBouncer, and after the promotion of a standby. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { inSchema, OWN, openTeamDatabase } from '../storage/team-database.ts'

const skip = hasPgbouncer ? false : 'PgBouncer is not installed'

test('a schema is used behind a pooler, with and without a direct address', { skip }, async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const pooler = await startPgbouncer(url)
  onEnd(t, () => pooler.stop())
  for (const direct of [{}, { GATEHOOK_DATABASE_DIRECT_URL: url }]) {
    const app = await openService(t, 'postgres', {
      service: OWN,
      url: pooler.through(url),
      env: { ...inSchema('two'), GATEHOOK_DATABASE_POOLER: 'transaction', ...direct },
    })
    assert.equal((await app.post('/api/v1/notes', { text: 'pooled' })).status, 201)
    assert.equal((await app.get('/api/v1/notes')).status, 200)
  }
  assert.deepEqual((await query('SELECT count(*)::int AS n FROM two.notes'))[0], { n: 2 })
  assert.deepEqual(
    await query("SELECT 1 FROM pg_tables WHERE tablename LIKE 'gh%' AND schemaname = 'public'"),
    [],
  )
})

test('a promotion skips ids in the schema of the installation', async (t) => {
  const primary = await startPostgres()
  onEnd(t, () => primary.stop())
  const standby = await primary.openStandby()
  onEnd(t, () => standby.stop())
  const env = inSchema('apart')
  const first = await openService(t, 'postgres', { service: OWN, url: primary.url, env })
  assert.equal((await first.post('/api/v1/notes', { text: 'x' })).status, 201)
  await first.app.close()
  const [written] = await queryAsAdmin(primary.url, 'SELECT pg_current_wal_lsn()::text AS lsn')
  const hasReplayed = `SELECT pg_last_wal_replay_lsn() >= '${written!.lsn}' AS has`
  while (!(await queryAsAdmin(standby.url, hasReplayed))[0]!.has);
  await primary.halt('immediate')
  await queryAsAdmin(standby.url, 'SELECT pg_promote()')
  const second = await openService(t, 'postgres', { service: OWN, url: standby.url, env })
  const note = await second.post('/api/v1/notes', { text: 'y' })
  assert.equal(note.status, 201)
  const sequences = await queryAsAdmin(
    standby.url,
    "SELECT last_value AS id FROM pg_sequences WHERE schemaname = 'apart' AND last_value > 0",
  )
  assert.ok(sequences.length > 0)
  assert.ok(sequences.every(({ id }) => Number(id) > 1_000_000))
})
