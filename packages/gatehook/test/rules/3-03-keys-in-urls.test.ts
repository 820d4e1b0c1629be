/** §3.3: a key in the URL is accepted with a warning, and the response is `no-store`. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('§3.3 a key in the URL is accepted, with a warning', async ({ as, key }) => {
  const { get } = as(undefined)
  const secret = await key()
  const { status, body, headers, text } = await get(`/api/v2/users?api_key=${secret}`)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.deepEqual(
    body._warnings.map(({ type }: { type: string }) => type),
    ['insecure_credential'],
  )
  assert.ok(!text.includes(secret) && !String(headers.link).includes(secret))
})

eachService(
  '§3.3 every response to a URL with a key is `private, no-store`',
  async ({ as, key }) => {
    const { send } = as(undefined)
    const query = `?api_key=${await key()}`
    const requests = [
      ['GET', '/api/v2/nowhere', 404],
      ['GET', '/nowhere', 404],
      ['PUT', '/api/v2/users', 405],
      ['GET', '/healthz', 200],
      ['GET', '/openapi/v2.json', 200],
      ['GET', '/api/v2/users/999', 404],
    ] as const
    for (const [method, path, expected] of requests) {
      const { status, headers } = await send(method, path + query)
      assert.equal(status, expected, path)
      assert.equal(headers['cache-control'], 'private, no-store', path)
    }
  },
)
