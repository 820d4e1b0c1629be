/**
 * §11.5: writes that callers without a credential cause have the share of their addresses, so that
 * a flood of them leaves connections to customers and to the engine.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Reply } from '../../../../test/rig/service.ts'
import { STRANGERS, shareKeyOf } from '../../src/kernel/caller-group.ts'
import { form } from '../oauth/rig.ts'
import { eachMailService, type Inbox } from '../people/mail-rig.ts'

const email = 'ada@example.com'
const requests: Readonly<Record<string, (rig: Inbox) => Promise<Reply>>> = {
  'POST /auth/password/forgot': ({ anonymous }) =>
    anonymous.post('/auth/password/forgot', { email }),
  'POST /auth/signup': ({ anonymous }) => anonymous.post('/auth/signup', { email, name: 'Ada' }),
  'POST /auth/email/resend': ({ anonymous }) => anonymous.post('/auth/email/resend', { email }),
  async 'POST /oauth/device_authorization'({ operator, anonymous }) {
    const grants = { grant_types: ['urn:ietf:params:oauth:grant-type:device_code'] }
    const client = { name: 'A device', scopes: ['users:read'], public: true, ...grants }
    const { status, text, body } = await operator.post('/admin/clients', client)
    assert.equal(status, 201, text)
    return form(anonymous, '/oauth/device_authorization', { client_id: body.client_id })
  },
}

eachMailService('writes of strangers name their address', async (rig) => {
  const { db } = rig.service.app
  const { write } = db
  const recorded = new AsyncLocalStorage<unknown[]>()
  db.write = (change, options) => {
    recorded.getStore()?.push(options?.customer)
    return write(change, options)
  }
  for (const [name, send] of Object.entries(requests)) {
    const customers: unknown[] = []
    const { status, text } = await recorded.run(customers, () => send(rig))
    assert.ok(status < 300, `${name}: ${status} ${text}`)
    const groups = customers.filter((customer) => customer !== undefined)
    assert.ok(
      groups.some((group) => shareKeyOf(group as string) === STRANGERS),
      `${name}: ${customers}`,
    )
  }
})
