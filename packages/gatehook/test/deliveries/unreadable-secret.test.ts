/** §9.8: a signing secret that cannot be decrypted delays the deliveries of its endpoint only. */
import assert from 'node:assert/strict'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import type { Log } from '../../src/kernel/log.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { Vault } from '../../src/kernel/secret.ts'
import { DeliveryEngine } from '../../src/outbound/deliveries/engine.ts'
import { engineStore } from '../../src/outbound/deliveries/engine-store.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'
import { soleLeases } from './sole-leases.ts'

const vault = new Vault('a secret that only tests know, long enough', systemRandom())

eachService(
  'an unreadable secret delays its own endpoint only, and is logged once',
  async (service, t) => {
    const [broken, intact] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, broken)).body
    await register(service, intact)
    const { db, administration } = service.app
    const { no } = (await db.get(sql`SELECT no FROM gh_webhooks WHERE id = ${id}`))!
    const readEncrypted = sql`SELECT encrypted FROM gh_webhook_secrets WHERE webhook_no = ${no}`
    const { encrypted } = (await db.get(readEncrypted))!
    const writeEncrypted = (bytes: Uint8Array) =>
      db.write((tx) =>
        tx.run(sql`UPDATE gh_webhook_secrets SET encrypted = ${bytes} WHERE webhook_no = ${no}`),
      )
    await writeEncrypted(Buffer.from(encrypted).reverse())

    let elapsedMs = 0
    const clock = { now: administration.clock.now, elapsedMs: () => elapsedMs }
    const errors: object[] = []
    const log = { ...quietLog, error: (fields: object) => void errors.push(fields) } as Log
    const sentTo: string[] = []
    const engine = new DeliveryEngine({
      store: engineStore({
        db,
        clock,
        vault,
        log,
        record: () => Promise.reject(new Error('no registration is disabled here')),
        coveredBy: () => undefined,
      }),
      leases: soleLeases,
      async post({ url }) {
        sentTo.push(url)
        return { kind: 'answered', status: 200, headers: {}, body: '', durationMs: 1 }
      },
      clock,
      chance: () => 0,
      log,
      scheduleS: [60],
      rate: undefined,
    })
    const scan = async () => {
      elapsedMs += 1_000
      await engine.tick()
    }
    await pay(service, 1)
    await engine.wake([no])
    for (let n = 0; n < 3; n++) await scan()
    assert.deepEqual(sentTo, [intact.url])
    assert.deepEqual(
      errors.map((fields) => (fields as { webhook: string }).webhook),
      [id],
    )

    await writeEncrypted(encrypted)
    await scan()
    assert.deepEqual(sentTo, [intact.url, broken.url])
  },
  LOCAL,
)
