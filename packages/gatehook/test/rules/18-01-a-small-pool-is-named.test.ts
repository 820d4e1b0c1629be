/** §18.1: the pool of a pooler without a free connection is named, and so is a lost direct path. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openCuttableLink } from '../../../../test/rig/cuttable-link.ts'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

const skip = !hasPgbouncer && 'needs PgBouncer'

async function openPlace(t: TestContext, poolSize: number) {
  const direct = new URL(await migratedUrl(t, 'postgres'))
  const link = await openCuttableLink(direct.href)
  onEnd(t, link.close)
  const pooler = await startPgbouncer(direct.href, poolSize)
  onEnd(t, () => pooler.stop())
  const env = {
    GATEHOOK_DATABASE_POOLER: 'transaction',
    GATEHOOK_DATABASE_DIRECT_URL: link.through(direct.href),
  }
  const url = pooler.through(direct.href)
  const open = () => openService(t, 'postgres', { url, env, log: quietLog })
  return { pooler, link, open }
}

interface Sentence {
  readonly check: string
  readonly message: string
}

const readAll = async (node: TestApp): Promise<readonly Sentence[]> => {
  const { reasons = [], warnings = [] } = (await node.as(undefined).get('/readyz')).body
  return [...reasons, ...warnings]
}

test('a pool that keeps a connection for each client is named', { skip }, async (t) => {
  const { pooler, open } = await openPlace(t, 2)
  const node = await open()
  assert.deepEqual(await readAll(node), [])
  await pooler.change({ mode: 'session' })
  await pooler.restart()
  const load = async () => {
    const create = (n: number) =>
      node.post('/api/v2/users', { name: 'Ann', email: `${n}.${Math.random()}@example.com` })
    const created = Array.from({ length: 8 }, (_, n) => create(n))
    const all = await readAll(node)
    await Promise.all(created)
    return all
  }
  await eventually(load, (all) => all.some(({ message }) => message === primaryFaults.pooler_pool))
})

test('a direct address that is lost is a warning, until it answers', { skip }, async (t) => {
  const { link, open } = await openPlace(t, 5)
  const node = await open()
  assert.deepEqual(await readAll(node), [])
  const restore = link.silence()
  const isNamed = ({ check, message }: Sentence) =>
    check === 'direct' && message.startsWith('The address of GATEHOOK_DATABASE_DIRECT_URL does not')
  await eventually(
    () => readAll(node),
    (all) => all.some(isNamed),
  )
  assert.equal((await node.get('/readyz')).status, 200)
  restore()
  await eventually(
    () => readAll(node),
    (all) => all.length === 0,
  )
})
