/** §18.2: no node writes on a former primary, whichever address names the newer one. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'

const FORMER = /the server is a former primary: it has timeline 1, .* continued on timeline 2/

/** A primary and a standby, and configurations that name the primary first. */
async function startCluster(t: TestContext) {
  const { primary, standby, url, readUrl: other } = await openPair(t)
  const both = url.replace(new URL(url).host, `${new URL(url).host},${new URL(other).host}`)
  const pooler = hasPgbouncer ? await startPgbouncer(url) : undefined
  onEnd(t, () => pooler?.stop())
  const pooled = pooler && {
    GATEHOOK_DATABASE_URL: pooler.through(url),
    GATEHOOK_DATABASE_POOLER: 'transaction',
  }
  const configurations: Record<string, Record<string, string>> = {
    'a replica': { GATEHOOK_DATABASE_URL: url, GATEHOOK_DATABASE_READ_URLS: other },
    ...(pooled && {
      'a pooler and its direct address': { ...pooled, GATEHOOK_DATABASE_DIRECT_URL: both },
      'a pooler and a replica': { ...pooled, GATEHOOK_DATABASE_READ_URLS: other },
    }),
  }
  return { primary, standby, url, configurations }
}

const createUser = (node: TestApp, name: string) =>
  node.post('/api/v2/users', { email: `${name}@example.com`, name })

test('no node writes on a former primary: not while it runs, not when it starts', async (t) => {
  const { primary, standby, url, configurations } = await startCluster(t)
  const open = (env: Record<string, string>) => openService(t, 'postgres', { url, env })
  const running = new Map<string, TestApp>()
  for (const [name, env] of Object.entries(configurations)) {
    const node = await open(env)
    assert.equal((await createUser(node, `before-${running.size}`)).status, 201, name)
    running.set(name, node)
  }
  await awaitReplay({ primary, standby })
  await queryAsAdmin(standby.url, 'SELECT pg_promote()')

  for (const [name, node] of running) {
    let attempts = 0
    const create = () => createUser(node, `${name.replaceAll(' ', '-')}-${attempts++}`)
    await eventually(create, ({ status }) => status === 503)
    assert.equal((await create()).status, 503, name)
    assert.equal((await node.get('/readyz')).status, 503, name)
  }
  const countUsers = async () => Number((await queryAsAdmin(url, COUNT))[0]!.count)
  const count = await countUsers()
  for (const [name, env] of Object.entries(configurations)) {
    await assert.rejects(open(env), { name: 'StorageWaitError', message: FORMER }, name)
  }
  assert.equal(await countUsers(), count)
})

const COUNT = 'SELECT count(*) AS count FROM users'
