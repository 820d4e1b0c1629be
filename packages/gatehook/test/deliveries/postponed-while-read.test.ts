/** §9.6: a delivery that is postponed while the store reads due rows is not sent early. */
import assert from 'node:assert/strict'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const vault = new Vault('a secret that only tests know, long enough', systemRandom())

eachService(
  'a result written between the read of the index and of the rows applies',
  async (service, t) => {
    await register(service, await openHook(t))
    await pay(service, 1)
    const { db, administration } = service.app
    const { clock } = administration
    const deps = {
      clock,
      vault,
      log: quietLog,
      record: () => Promise.reject(new Error()),
      coveredBy: () => undefined,
    }
    const store = engineStore({ ...deps, db })
    const { endpoints } = await store.readEndpointSlice(0, 10)
    const [endpoint] = endpoints
    const { scope } = endpoint!
    const [due] = (await store.readDueDeliveries(endpoint!, clock.now(), new Set(), 10)).rows
    const { id } = due!
    const loadedIds = new Set([id])
    const arrays: Database['arrays'] = async (statement) => {
      const rows = await db.arrays(statement)
      const result = { scope, id, state: 'pending', attempt: 1, record: '' } as const
      if (loadedIds.size > 0)
        await store.writeResults([{ ...result, nextAt: clock.now() + 5_000 }], [], [])
      loadedIds.clear()
      return rows
    }
    const late = engineStore({ ...deps, db: { ...db, arrays } })
    assert.deepEqual((await late.readDueDeliveries(endpoint!, clock.now(), loadedIds, 10)).rows, [])
    const { rows } = await store.readDueDeliveries(endpoint!, clock.now() + 5_000, loadedIds, 10)
    assert.deepEqual(
      rows.map(({ attempt }) => attempt),
      [1],
    )
  },
  LOCAL,
)
