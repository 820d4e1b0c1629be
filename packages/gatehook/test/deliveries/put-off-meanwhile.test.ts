/** §9.6: a delivery that is put off while due ones are looked for is not sent before its time. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { deliveryStore } from '../../src/deliveries/delivery-store.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import type { Database } from '../../src/storage/database.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const vault = new Vault('a secret that only tests know, long enough', systemRandom())

eachService(
  'a result written between two looks at the queue counts',
  async (service, t) => {
    await register(service, await openHook(t))
    await pay(service, 1)
    const { db, administration } = service.app
    const { clock } = administration
    const deps = {
      clock,
      vault,
      record: () => Promise.reject(new Error()),
      coveredBy: () => undefined,
    }
    const store = deliveryStore({ ...deps, db })
    const [{ no } = { no: 0 }] = await store.scan()
    const [due] = (await store.due(no, clock.now(), new Set(), 10)).rows
    const known = new Set([due!.no])
    const arrays: Database['arrays'] = async (statement) => {
      const rows = await db.arrays(statement)
      const result = { no: due!.no, state: 'pending', attempt: 1, record: '' } as const
      if (known.size > 0) await store.settle([{ ...result, nextAt: clock.now() + 5_000 }], [])
      known.clear()
      return rows
    }
    const late = deliveryStore({ ...deps, db: { ...db, arrays } })
    assert.deepEqual((await late.due(no, clock.now(), known, 10)).rows, [])
    const { rows } = await store.due(no, clock.now() + 5_000, known, 10)
    assert.deepEqual(
      rows.map(({ attempt }) => attempt),
      [1],
    )
  },
  LOCAL,
)
