/**
 * §18.4: a damaged page is 503 and not ready, on every path that reads or writes it, and never ends
 * the process.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { damagePostgres, damageSqlite } from '../../../../test/rig/damage.ts'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { createDatabase, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { checkCounters } from '../../src/protocol/lists/counter-check.ts'

/** Pages of sample orders by their kind. */
const pageKinds = {
  'a leaf of the table': "name = 'orders' AND pagetype = 'leaf'",
  'an inner page of the table': "name = 'orders' AND pagetype = 'internal'",
  'a leaf of an index': "name LIKE 'orders_by_amount%' AND pagetype = 'leaf'",
} as const

/** Opens a service whose file has a damaged page of orders. */
async function openDamaged(t: TestContext, where: string): Promise<TestApp> {
  const url = await migratedUrl(t, 'sqlite')
  const whole = await openService(t, 'sqlite', { url, seed: true })
  await whole.app.close()
  damageSqlite(url.replace(/^sqlite:/, ''), where)
  return openService(t, 'sqlite', { url })
}

const paths = [
  '/api/v2/orders',
  '/api/v2/orders?sort=amount',
  '/api/v2/orders?sort=-created_at&limit=100',
  '/api/v2/orders?pagination=offset&limit=100',
  '/api/v2/orders?expand=user',
  '/api/v2/orders/1',
  '/api/v2/orders/60',
  '/api/v2/users',
]

/** Sends requests that read and write the page; then the node is not ready. */
async function requireUnready(service: TestApp): Promise<void> {
  const { get, send, as } = service
  const seen = new Map<number, string>()
  for (let round = 1; round <= 2; round++) {
    for (const path of paths) {
      const { status, text } = await get(path)
      seen.set(status, `${path} ${text}`)
      await nextTurn() // the shared read transaction ends here
    }
    for (let id = 1; id <= 120; id += 7) {
      const reply = await send('PATCH', `/api/v2/orders/${id}`, { note: `round ${round}` })
      seen.set(reply.status, reply.text)
    }
  }
  assert.ok(seen.has(503), [...seen.keys()].join())
  const wrong = [...seen].filter(([status]) => ![200, 404, 409, 503].includes(status))
  assert.deepEqual(wrong, [])
  assert.match(seen.get(503)!, /"storage_unavailable".*damaged/)
  for (const path of ['/readyz', '/readyz?for=read']) {
    const { status, body } = await as(undefined).get(path)
    assert.deepEqual([status, body.reasons[0].check], [503, 'database'])
    assert.match(body.reasons[0].message, /damaged.*backup/)
  }
  const user = { name: 'Ada', email: 'ada@example.com' }
  assert.equal((await service.post('/api/v2/users', user)).status, 201, 'other tables work')
}

for (const [kind, where] of Object.entries(pageKinds)) {
  test(`${kind} is damaged: 503, not ready, and the process goes on [sqlite]`, async (t) =>
    requireUnready(await openDamaged(t, where)))
}

for (const relation of ['orders', 'orders_pkey']) {
  test(`a page of ${relation} is damaged: 503, not ready [postgres]`, async (t) => {
    const server = await startPostgres()
    onEnd(t, () => server.stop())
    const url = await createDatabase(server.url)
    const whole = await openService(t, 'postgres', { url, seed: true })
    await whole.app.close()
    await damagePostgres(server, url, relation)
    const service = await openService(t, 'postgres', { url })
    onEnd(t, () => service.app.close())
    await requireUnready(service)
  })
}

const GUIDE = join(import.meta.dirname, '../../../../docs/guides/operations.md')

/** Returns the commands of the runbook that copy the rows of a damaged file, and count them. */
function recovery(): Readonly<Record<'dump' | 'create' | 'count', string>> {
  const [, text = ''] = readFileSync(GUIDE, 'utf8').split('### The database is damaged')
  const [dump, create] = ['sqlite3 gatehook.db .dump', 'sed '].map(
    (start) => text.split('`').find((span) => span.startsWith(start))!,
  )
  return { dump: dump!, create: create!, count: /```sql\n([^`]+)```/.exec(text)![1]! }
}

for (const [kind, where] of Object.entries(pageKinds)) {
  test(`the runbook recovers a file of which ${kind} is damaged`, {
    skip: spawnSync('sqlite3', ['--version']).status !== 0 && 'sqlite3 is not installed',
  }, async (t) => {
    const { app, url } = await openDamaged(t, where)
    await app.close()
    const file = url.replace(/^sqlite:/, '')
    const cwd = dirname(file)
    const { dump, create, count } = recovery()
    spawnSync('sh', ['-c', dump], { cwd })
    const isWhole = !readFileSync(join(cwd, 'rows.sql'), 'utf8').includes('CORRUPTION ERROR')
    assert.equal(isWhole, kind.includes('index'), 'damaged indexes lose no row')
    execFileSync('sh', ['-c', create], { cwd, stdio: ['ignore', 'ignore', 'ignore'] })
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    renameSync(join(cwd, 'recovered.db'), file)
    execFileSync('sqlite3', [file], { input: count })
    const service = await openService(t, 'sqlite', { url })
    const orders = { name: 'orders', deletedColumn: undefined }
    const { wrong } = await checkCounters(service.app.db, orders, async () => {})
    assert.deepEqual(wrong, [])
    assert.equal((await service.as(undefined).get('/readyz')).status, 200)
    for (const path of paths) {
      const { status, text } = await service.get(path)
      assert.ok(status === 200 || (!isWhole && status === 404), `${path} ${text}`)
    }
    const user = { name: 'Ada', email: 'ada@example.com' }
    assert.equal((await service.post('/api/v2/users', user)).status, 201)
  })
}
