/**
 * §9.12: PostgreSQL itself ends in the middle of deliveries, in order or by a crash, and comes
 * back. Nothing acknowledged is lost, nobody starts the engine again, callers are told meanwhile.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { createDatabase, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register, settled } from '../webhooks/hook.ts'

const EVENTS = 30
/** What the engine has under way to one endpoint. */
const UNDER_WAY = 20
const WITHIN_MS = 20_000

/** A server of this test's own, which a crash costs nothing that was committed. */
async function openServer(t: TestContext) {
  const server = await startPostgres(['fsync=off', 'full_page_writes=off'])
  const url = await createDatabase(server.url)
  const service = await openService(t, 'postgres', { url, ...LOCAL })
  t.after(() => server.stop())
  return { server, service }
}

for (const how of ['fast', 'immediate'] as const) {
  test(`a server that ends (${how}) and returns costs no delivery [postgres]`, async (t) => {
    const { server, service } = await openServer(t)
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    let open = () => {}
    hook.holds = new Promise<void>((resolve) => void (open = resolve))
    await service.app.work()
    const acknowledged = new Set<string>()
    for (let n = 0; n < EVENTS; n++) acknowledged.add((await pay(service, n)).body.id)
    await hook.until(1 + UNDER_WAY)

    await server.halt(how)
    open() // answers come, and there is nowhere to write them
    for (let n = 0; n < 5; n++) {
      const { status, body } = await pay(service, n)
      assert.deepEqual([status, body.error], [503, 'storage_unavailable'])
    }
    assert.equal((await service.get('/readyz')).status, 503)
    assert.equal((await service.get('/healthz')).status, 200)
    await server.start()

    const once = await eventually(
      () => pay(service, 0),
      ({ status }) => status === 201,
      WITHIN_MS,
    )
    acknowledged.add(once.body.id)
    for (let n = 0; n < EVENTS; n++) acknowledged.add((await pay(service, n)).body.id)
    assert.equal(acknowledged.size, 2 * EVENTS + 1)
    const arrived = async () => new Set(hook.calls.map(({ event }) => event.id))
    const isAll = (ids: ReadonlySet<unknown>) => [...acknowledged].every((one) => ids.has(one))
    await eventually(arrived, isAll, WITHIN_MS)
    const log = await settled(service, id)
    assert.ok(log.every(({ state }) => state === 'delivered'))
    const again = hook.calls.filter(({ event }) => acknowledged.has(event.id)).length
    assert.ok(again - acknowledged.size <= UNDER_WAY, 'more was sent twice than was under way')
  })
}
