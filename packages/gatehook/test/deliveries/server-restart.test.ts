/**
 * §9.12: PostgreSQL shuts down or crashes during deliveries, and restarts. No acknowledged event is
 * lost, the engine continues by itself, and requests get 503 meanwhile.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { createDatabase, startPostgres } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { finishedLog, HOLDING, openHook, pay, register } from '../webhooks/hook.ts'

const EVENTS = 30
/** Attempts of one endpoint in flight. */
const IN_FLIGHT = 20

/** Starts a server for this test; a crash of it loses no commit. */
async function openServer(t: TestContext) {
  const server = await startPostgres(['fsync=off', 'full_page_writes=off'])
  const url = await createDatabase(server.url)
  const service = await openService(t, 'postgres', { url, ...HOLDING })
  onEnd(t, () => server.stop())
  return { server, service }
}

for (const how of ['fast', 'immediate'] as const) {
  test(`a restart of the server (${how}) loses no delivery [postgres]`, async (t) => {
    const { server, service } = await openServer(t)
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    let open = () => {}
    hook.holds = new Promise<void>((resolve) => void (open = resolve))
    await service.app.work()
    const acknowledged = new Set<string>()
    for (let n = 0; n < EVENTS; n++) acknowledged.add((await pay(service, n)).body.id)
    await hook.until(1 + IN_FLIGHT)

    await server.halt(how)
    open() // responses arrive while no result can be written
    for (let n = 0; n < 5; n++) {
      const { status, body } = await pay(service, n)
      assert.deepEqual([status, body.error], [503, 'storage_unavailable'])
    }
    assert.equal((await service.get('/readyz')).status, 503)
    assert.equal((await service.get('/healthz')).status, 200)
    await server.start()

    const accepted = await eventually(
      () => pay(service, 0),
      ({ status }) => status === 201,
    )
    acknowledged.add(accepted.body.id)
    for (let n = 0; n < EVENTS; n++) acknowledged.add((await pay(service, n)).body.id)
    assert.equal(acknowledged.size, 2 * EVENTS + 1)
    const arrived = async () => new Set(hook.calls.map(({ event }) => event.id))
    const hasAll = (ids: ReadonlySet<unknown>) => [...acknowledged].every((id) => ids.has(id))
    await eventually(arrived, hasAll)
    const log = await finishedLog(service, id)
    assert.ok(log.every(({ state }) => state === 'delivered'))
    const posts = hook.calls.filter(({ event }) => acknowledged.has(event.id)).length
    assert.ok(posts - acknowledged.size <= IN_FLIGHT, 'more was resent than had been in flight')
  })
}
