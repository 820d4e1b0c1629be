/** §11.5: event streams: 5 of a credential, 20 of a mode of a customer, 200 of a node. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'
import { listen } from '../events/listen.ts'

eachService('streams of one customer do not exhaust those of others', async (service, t) => {
  const { app, key } = service
  const { url } = await app.listen()
  const open = async (secret: string) => listen(t, url, secret)
  const refused = async (secret: string, pattern: RegExp) => {
    const reply = await open(secret)
    assert.equal(reply.status, 429)
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
    const { error, message } = JSON.parse(await reply.text())
    assert.equal(error, 'rate_limited')
    assert.match(message, pattern)
  }
  const modes = ['live', 'live', 'live', 'live', 'live', 'test'] as const
  const keys = await Promise.all(modes.map((mode) => key({ mode })))
  const streams: Awaited<ReturnType<typeof open>>[] = []
  for (const secret of keys.slice(0, 4)) {
    for (let n = 0; n < 5; n++) {
      const stream = await open(secret)
      assert.equal(stream.status, 200)
      streams.push(stream)
    }
    await refused(secret, /a credential/)
  }
  assert.equal((await open(keys[5]!)).status, 200, 'the other mode')
  await refused(keys[4]!, /a customer/)
  const actor = { kind: 'cli', id: 'test' } as const
  const other = await createCustomer(app.administration, { name: 'Other' }, actor)
  const theirs = await key({ customer: other.id })
  assert.equal((await open(theirs)).status, 200)
  streams[0]!.close()
  for (;;) {
    const again = await open(keys[4]!)
    if (again.status === 200) return
    await again.text()
    await breath()
  }
})
