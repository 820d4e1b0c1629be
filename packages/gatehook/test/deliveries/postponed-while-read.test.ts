/** §9.6: a delivery that is postponed while the store reads due rows is not sent early. */
import assert from 'node:assert/strict'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { engineStore } from '../../src/deliveries/engine-store.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/storage/database.ts'
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
    const [{ no } = { no: 0 }] = endpoints
    const [due] = (await store.readDueDeliveries(no, clock.now(), new Set(), 10)).rows
    const loadedNos = new Set([due!.no])
    const arrays: Database['arrays'] = async (statement) => {
      const rows = await db.arrays(statement)
      const result = { no: due!.no, state: 'pending', attempt: 1, record: '' } as const
      if (loadedNos.size > 0)
        await store.writeResults([{ ...result, nextAt: clock.now() + 5_000 }], [], [])
      loadedNos.clear()
      return rows
    }
    const late = engineStore({ ...deps, db: { ...db, arrays } })
    assert.deepEqual((await late.readDueDeliveries(no, clock.now(), loadedNos, 10)).rows, [])
    const { rows } = await store.readDueDeliveries(no, clock.now() + 5_000, loadedNos, 10)
    assert.deepEqual(
      rows.map(({ attempt }) => attempt),
      [1],
    )
  },
  LOCAL,
)
