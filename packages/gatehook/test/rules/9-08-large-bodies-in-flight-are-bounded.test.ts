/** §9.8: hanging receivers of a customer occupy bounded memory, and delay no others. */
import assert from 'node:assert/strict'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { HOLDING, openHook, pay, register } from '../webhooks/hook.ts'

const RECEIVERS = 4
const EVENTS = 20
const BODY_BYTES = 200_000
/** `CUSTOMER_BYTES_MAX` in bodies, and one more body for each receiver. */
const IN_FLIGHT_MAX = Math.floor(8_388_608 / BODY_BYTES) + RECEIVERS

eachService(
  'large bodies in flight are bounded, and a quick receiver gets its deliveries',
  async (service, t) => {
    const [hanging, quick] = [await openHook(t), await openHook(t)]
    for (let n = 0; n < RECEIVERS; n++) {
      const { id } = (await register(service, { url: `${hanging.url}/${n}` })).body
      assert.ok(id)
    }
    let release = () => {}
    hanging.holds = new Promise<void>((resolve) => void (release = resolve))
    onEnd(t, () => release())
    await service.app.work()
    const object = { id: 1, text: 'x'.repeat(BODY_BYTES) }
    for (let n = 0; n < EVENTS; n++) {
      const posted = await service.post('/events', { type: 'payment.succeeded', object })
      assert.equal(posted.status, 201, posted.text)
    }
    await hanging.until(RECEIVERS + 40)
    assert.equal((await register(service, quick)).status, 201)
    await service.post('/events', { type: 'payment.succeeded', object })
    await pay(service, 2)
    await quick.until(3)
    const texts = quick.calls.flatMap(({ event }) => event.data.object.text?.length ?? [])
    assert.deepEqual(texts, [BODY_BYTES])
    const inFlight = hanging.calls.length - RECEIVERS
    assert.ok(inFlight >= 40 && inFlight <= IN_FLIGHT_MAX, String(inFlight))
    release()
    await hanging.until(RECEIVERS + RECEIVERS * (EVENTS + 2))
  },
  HOLDING,
)
