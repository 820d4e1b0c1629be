/**
 * §9.14, §4.7, §16.8: an act that ends a caller ends its tokens, and what it registered before.
 * Nothing is registered beside the act or after it, on any node. Each kind of caller is tested with
 * each act.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { issuerEnv } from '../oauth/issuer-rig.ts'
import { HOLDING, openHook } from '../webhooks/hook.ts'
import {
  type Act,
  MAKERS,
  type Maker,
  openMakerRig,
  requestsOf,
  SCOPES,
} from '../webhooks/makers.ts'

const env = { ...HOLDING.env, GATEHOOK_PUBLIC_URL: issuerEnv.GATEHOOK_PUBLIC_URL }

interface Nodes {
  readonly node: TestApp
  readonly other: TestApp
  /** A key of the customer, which registers the receiver that a maker takes over. */
  readonly key: string
}

const OPTIONS = { concurrency: 3 }

const isRefused = ({ status }: Reply) => status >= 400
const events = { events: ['user.*'] }

/** Ends a maker by an act, beside its requests. */
async function endBeside(t: TestContext, { node, other, key }: Nodes, maker: Maker, act: Act) {
  const [own, early, late] = await Promise.all([openHook(t), openHook(t), openHook(t)])
  const owner = node.as(key)
  const target = (await owner.post('/webhooks', { url: own.url, ...events })).body
  const [here, there] = [requestsOf(maker, node), requestsOf(maker, other)]
  const before = await here.register(early.url)
  assert.equal(before.status, 201, before.text)
  assert.equal((await there.list()).status, 200)

  let respond = () => {}
  late.holds = new Promise<void>((resolve) => void (respond = resolve))
  const beside = [here.register(late.url), here.take(target.id, late.url)]
  await late.until(2)
  const ended = await act.run()
  assert.ok(ended.status < 300, ended.text)
  respond()
  const after = [there.register(late.url), there.take(target.id, late.url)]
  for (const reply of await Promise.all([...beside, ...after])) {
    assert.ok(isRefused(reply), `made beside the end: ${reply.status} ${reply.text}`)
  }
  if (!act.reads) for (const { list } of [here, there]) await eventually(list, isRefused)
  if (maker.refresh !== undefined) {
    const fields = { refresh_token: maker.refresh }
    const refreshed = await node.as(undefined).post('/auth/refresh', fields)
    const scopes: string[] = refreshed.body.scope?.split(' ') ?? []
    assert.ok(act.narrows ? !scopes.includes('webhooks:write') : isRefused(refreshed))
  }
  return { owner, target, early: before.body }
}

/** Asserts that one registration of the maker is left at most, and that no other one delivers. */
async function assertEnded(
  { owner, target, early }: Awaited<ReturnType<typeof endBeside>>,
  act: Act,
) {
  const stays = act.stays === true
  const read = async (id: string) => (await owner.get(`/webhooks/${id}`)).body
  const { active, disabled_reason } = await read(early.id)
  assert.deepEqual([active, disabled_reason], [stays, stays ? null : 'creator_removed'])
  assert.equal((await read(target.id)).url, target.url)
  const { data } = (await owner.get('/webhooks?limit=100')).body
  const ids = data.map(({ id }: { id: string }) => id).sort()
  assert.deepEqual(ids, [target.id, early.id].sort())
  const name = `A${target.id}`
  const created = await owner.post('/api/v2/users', { name, email: `${name}@example.com` })
  assert.equal(created.status, 201, created.text)
  const statesOf = async (id: string) =>
    (await owner.get(`/webhooks/${id}/deliveries`)).body.data.map(
      ({ state }: { state: string }) => state,
    )
  assert.deepEqual(await statesOf(target.id), ['pending'])
  if (!stays) assert.ok(!(await statesOf(early.id)).includes('pending'), 'it would be delivered')
}

for (const { name } of databases) {
  test(`an act that ends a caller ends what it made and makes [${name}]`, OPTIONS, async (t) => {
    const node = await openService(t, name, { env })
    const other = await openService(t, name, { env, url: node.url })
    const rig = await openMakerRig(node)
    const open = async (openMaker: (typeof MAKERS)[string]) => {
      const { id: customer } = await rig.create('/admin/customers', { name: 'Shop' })
      const scopes = [...SCOPES, 'users:write']
      const body = { name: 'k', customer, mode: 'live', scopes }
      const { key } = await rig.create('/admin/keys', body)
      return { maker: await openMaker(rig, customer), key: key as string }
    }
    for (const [kind, openMaker] of Object.entries(MAKERS)) {
      const ways = Object.keys((await open(openMaker)).maker.acts)
      const parts = ways.map((way) =>
        t.test(`${kind}: ${way}`, async (part) => {
          const { maker, key } = await open(openMaker)
          const act = maker.acts[way]!
          await assertEnded(await endBeside(part, { node, other, key }, maker, act), act)
        }),
      )
      await Promise.all(parts)
    }
  })
}
