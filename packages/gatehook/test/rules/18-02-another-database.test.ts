/** §18.2: no node reads or writes in another database to which an address leads later: a copy. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { asAdmin, createDatabase, queryAsAdmin, withName } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

const nameOf = (url: string) => new URL(url).pathname.slice(1)
const countUsers = async (url: string) =>
  Number((await queryAsAdmin(url, 'SELECT count(*) AS count FROM users'))[0]!.count)

let users = 0
const createUser = (node: TestApp) =>
  node.post('/api/v2/users', { email: `user${++users}@example.com`, name: 'Ann' })

/** A database, and a copy of it on the same server. */
async function openBoth(t: TestContext) {
  const { app, url } = await openService(t, 'postgres')
  await app.close()
  const copy = await createDatabase(withName(url, 'postgres'), { template: nameOf(url) })
  return { url, copy }
}

interface Place extends Awaited<ReturnType<typeof openBoth>> {
  readonly pooler: Pgbouncer | undefined
}

/** Exchanges the names of both databases, whose sessions end. */
async function exchange({ url, copy }: Place): Promise<void> {
  const [name, other] = [nameOf(url), nameOf(copy)]
  const admin = withName(url, 'postgres')
  const rename = (from: string, to: string) =>
    asAdmin(admin, `ALTER DATABASE ${from} RENAME TO ${to}`)
  await asAdmin(admin, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await asAdmin(
    admin,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  )
  await eventually(
    () => queryAsAdmin(admin, `SELECT FROM pg_stat_activity WHERE datname = '${name}'`),
    (sessions) => sessions.length === 0,
  )
  await rename(name, `${name}_former`)
  await rename(other, name)
  await rename(`${name}_former`, other)
  await asAdmin(admin, `ALTER DATABASE ${other} ALLOW_CONNECTIONS true`)
}

interface Way {
  readonly name: string
  readonly isPooled: boolean
  readonly env: (place: Place) => Record<string, string>
  readonly lead: (place: Place) => Promise<void>
  readonly leadBack: (place: Place) => Promise<void>
  /** The address of the copy then. */
  readonly copyOf: (place: Place) => string
}

const ofPooler = {
  isPooled: true,
  lead: ({ pooler, copy }: Place) => pooler!.change({ database: nameOf(copy) }),
  leadBack: ({ pooler }: Place) => pooler!.change({}),
  copyOf: ({ copy }: Place) => copy,
}
const TRANSACTION = { GATEHOOK_DATABASE_POOLER: 'transaction' }
const ways: readonly Way[] = [
  { ...ofPooler, name: 'a pooler', env: () => TRANSACTION },
  {
    ...ofPooler,
    name: 'a pooler with a direct address',
    env: ({ url }) => ({ ...TRANSACTION, GATEHOOK_DATABASE_DIRECT_URL: url }),
  },
  {
    name: 'an address whose database was renamed',
    isPooled: false,
    env: () => ({}),
    lead: exchange,
    leadBack: exchange,
    copyOf: ({ url }) => url,
  },
]

const sentenceOf = async (node: TestApp): Promise<string | undefined> => {
  const { reasons = [] } = (await node.as(undefined).get('/readyz')).body
  return reasons.find(({ check }: { check: string }) => check === 'primary')?.message
}

for (const { name, isPooled, env, lead, leadBack, copyOf } of ways) {
  const skip = isPooled && !hasPgbouncer && 'needs PgBouncer'
  test(`${name} that leads to a copy: 503, until it leads back`, { skip }, async (t) => {
    const both = await openBoth(t)
    const pooler = isPooled ? await startPgbouncer(both.url) : undefined
    onEnd(t, () => pooler?.stop())
    const place = { ...both, pooler }
    const url = pooler?.through(both.url) ?? both.url
    const node = await openService(t, 'postgres', { url, env: env(place), log: quietLog })
    assert.equal((await createUser(node)).status, 201)
    await lead(place)
    await eventually(
      () => createUser(node),
      ({ status }) => status === 503,
    )
    await eventually(
      () => sentenceOf(node),
      (sentence) => sentence === primaryFaults.other_database,
    )
    await eventually(
      () => node.get('/api/v2/users'),
      ({ status }) => status === 503,
    )
    const { text } = await node.get('/metrics')
    assert.match(text, /^gatehook_database_fault\{fault="other_database"\} 1/m)
    assert.match(node.app.db.misled()!, MISLED)
    assert.equal(await countUsers(copyOf(place)), 0, 'the copy has rows')
    await leadBack(place)
    await eventually(
      () => createUser(node),
      ({ status }) => status === 201,
    )
    await eventually(
      () => node.as(undefined).get('/readyz'),
      ({ status, body }) => status === 200 && body.warnings === undefined,
    )
    assert.equal(node.app.db.misled(), undefined)
  })
}

const MISLED =
  /^The address .* leads to another database \(\w+, oid \d+\) than .* began \(\w+, oid \d+\); /

test('a start beside an address of another database is refused, and names it', async (t) => {
  const { url, copy } = await openBoth(t)
  for (const name of ['GATEHOOK_DATABASE_READ_URLS', 'GATEHOOK_DATABASE_DIRECT_URL']) {
    const isDirect = name === 'GATEHOOK_DATABASE_DIRECT_URL'
    if (isDirect && !hasPgbouncer) continue
    const pooler = isDirect ? await startPgbouncer(url) : undefined
    onEnd(t, () => pooler?.stop())
    const env = { ...(isDirect && TRANSACTION), [name]: copy }
    const opening = openService(t, 'postgres', { url: pooler?.through(url) ?? url, env })
    await assert.rejects(opening, { name: 'StorageWaitError', message: MISLED }, name)
  }
})

test('attention names both databases while a standby serves reads', async (t) => {
  if (!hasPgbouncer) return t.skip('needs PgBouncer')
  const { primary, standby, url, readUrl } = await openPair(t)
  await createDatabase(primary.url, { name: 'gatehook_copy' })
  const pooler = await startPgbouncer(url)
  onEnd(t, () => pooler.stop())
  const env = { ...TRANSACTION, GATEHOOK_DATABASE_READ_URLS: readUrl }
  const node = await openService(t, 'postgres', { url: pooler.through(url), env, log: quietLog })
  const admin = node.as(await node.key({ scopes: ['admin'], mode: 'live' }))
  assert.equal((await createUser(node)).status, 201)
  await awaitReplay({ primary, standby })
  await pooler.change({ database: 'gatehook_copy' })
  const read = async () => JSON.stringify((await admin.get('/admin/attention')).body)
  const named = await eventually(read, (text) => /gatehook_copy, oid \d+/.test(text))
  assert.match(named, /node_not_ready/)
  await pooler.change({})
  await eventually(
    () => createUser(node),
    ({ status }) => status === 201,
  )
})
