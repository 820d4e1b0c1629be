/**
 * §18.11: after an erasure, engines send the erased bodies of deliveries that they had in memory.
 * An attempt that has begun ends.
 */
import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { finishedLog, HOLDING, openHook, register } from '../webhooks/hook.ts'

const CHANGES = 40
const IN_FLIGHT = 20
const NAME = 'Paula Secretname'

const revisionsOf = async ({ app }: TestApp) =>
  (await app.db.arrays(sql`SELECT revision FROM gh_webhooks ORDER BY no`)).flat().map(Number)

eachService(
  'deliveries that wait in memory during an erasure are sent without the person',
  async (service, t) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const hook = await openHook(t)
    const { id: webhook } = (await register(service, hook)).body as { id: string }
    let open = () => {}
    hook.holds = new Promise<void>((resolve) => void (open = resolve))
    const person = { name: NAME, email: 'paula@example.com' }
    const { id } = (await service.post('/api/v2/users', person)).body as { id: number }
    for (let n = 0; n < CHANGES; n++) {
      const { status } = await service.patch(`/api/v2/users/${id}`, { name: `${NAME} ${n}` })
      assert.equal(status, 200)
    }
    await service.app.work()
    await hook.until(1 + IN_FLIGHT)
    const before = await revisionsOf(service)
    assert.equal((await admin.delete(`/admin/users/${id}`)).status, 202)
    // The job of late rows follows `person.erased`. A request would be another row to walk.
    const late = sql`SELECT no FROM gh_jobs WHERE name = 'erase_late_rows'`
    const isErased = async () => (await service.app.db.arrays(late)).length === 1
    await eventually(isErased, Boolean)
    assert.ok((await revisionsOf(service))[0]! > before[0]!)
    assert.equal(hook.calls.length, 1 + IN_FLIGHT)
    open()
    await finishedLog(service, webhook)
    assert.ok(hook.calls.length > CHANGES)
    const named = hook.calls.filter(({ body }) => body.includes(NAME))
    assert.equal(named.length, IN_FLIGHT)
    assert.deepEqual(named, hook.calls.slice(1, 1 + IN_FLIGHT))
  },
  HOLDING,
)
