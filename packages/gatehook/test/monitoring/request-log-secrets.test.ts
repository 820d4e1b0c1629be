/** §12.7: the request log has no text that may be a secret. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { adminOf, requestIdOf } from './admin.ts'

eachService(
  'texts without a name, and secrets in URLs and headers, are not stored',
  async (service) => {
    const admin = await adminOf(service)
    const url = 'https://user:kanary@h.example/'
    const headers = { 'x-otp': 'kanary', 'x-auth': 'kanary', 'x-session-id': 'kanary' }
    for (const body of ['kanary', ['kanary'], { url }, { name: 'x', note: [url] }]) {
      for (const path of ['/admin/customers', '/webhooks', '/api/v2/users?sig=kanary&otp=kanary']) {
        const reply = await admin.send('POST', path, body, headers)
        assert.ok(reply.status >= 400, reply.text)
        const { text } = await admin.get(`/admin/requests/${requestIdOf(reply)}`)
        assert.match(text, /"body"/)
        assert.doesNotMatch(text, /kanary/, `${path} ${JSON.stringify(body)}`)
      }
    }
  },
)

eachService(
  'members of private keys and short secrets at any depth are not stored',
  async (service) => {
    const admin = await adminOf(service)
    const jwk = { kty: 'EC', d: 'kanary', k: 'kanary', p: 'kanary', qi: 'kanary' }
    const login = { db: [{ userPin: 'kanary', 'pass-phrase': 'kanary', PWD: 'kanary' }] }
    const form = 'grant=a&pin[eq]=kanary&X-Amz-Signature=kanary'
    for (const path of ['/admin/customers', '/webhooks', '/api/v2/users', '/none']) {
      const reply = await admin.send('POST', path, { name: form, metadata: { jwk, login } })
      assert.ok(reply.status >= 400, reply.text)
      const { text } = await admin.get(`/admin/requests/${requestIdOf(reply)}`)
      assert.doesNotMatch(text, /kanary/, path)
    }
  },
)
