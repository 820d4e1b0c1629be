/** §18.1: a slow path to the database is named with figures, and is no silence. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openCuttableLink } from '../../../../test/rig/cuttable-link.ts'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

async function openBehindLink(t: TestContext) {
  const direct = await migratedUrl(t, 'postgres')
  const link = await openCuttableLink(direct)
  onEnd(t, () => link.close())
  const node = await openService(t, 'postgres', { url: link.through(direct) })
  await node.app.work()
  // The requests keep the node busy, whose polls measure the path.
  const probe = async () => (await node.as(undefined).get('/readyz')).body
  return { link, node, probe }
}

interface Probe {
  readonly reasons: readonly { readonly check: string; readonly message: string }[]
  readonly warnings?: readonly { readonly check: string; readonly message: string }[]
}

const sentenceOf = ({ reasons, warnings = [] }: Probe, name: string) =>
  [...reasons, ...warnings].find(({ check }) => check === name)?.message

test('a node that is slowed down serves, with a warning', async (t) => {
  const { link, node, probe } = await openBehindLink(t)
  link.delay(100)
  const body = await eventually(probe, (result) => sentenceOf(result, 'round_trip') !== undefined)
  assert.match(sentenceOf(body, 'round_trip')!, /takes at least \d{3,} ms to answer this node/)
  const create = () => node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  await eventually(create, ({ status }) => status === 201)
  link.delay(0)
})

test('a path that is too slow is no silent database', async (t) => {
  const { link, probe } = await openBehindLink(t)
  link.delay(1_500)
  const isNamed = (result: Probe) => sentenceOf(result, 'primary') === primaryFaults.slow
  await eventually(probe, isNamed)
  link.delay(0)
  await eventually(probe, ({ status }) => status === 'ready')
})
