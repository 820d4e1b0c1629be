/** §11.4: body, URL and headers have bounds; a request beyond them gets its status. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('§11.4 1 MiB of body, 8 KiB of URL, 16 KiB of headers', async ({ app, key }) => {
  const { url } = await app.listen()
  const headers = { 'x-api-key': await key(), 'content-type': 'application/json' }
  const post = (body: string) => fetch(`${url}/api/v2/users`, { method: 'POST', headers, body })
  const padded = (size: number) => {
    const [head, tail] = ['{"name":"', '","email":"a@example.com"}']
    return head + 'x'.repeat(size - head.length - tail.length) + tail
  }
  assert.equal((await post(padded(1_048_576))).status, 422) // read; the name is too long
  const large = await post(padded(1_048_577))
  assert.deepEqual(
    [large.status, ((await large.json()) as { error: string }).error],
    [413, 'payload_too_large'],
  )

  const path = '/api/v2/users?fields='
  const long = await fetch(url + path + 'x'.repeat(8192 - path.length), { headers })
  assert.equal(long.status, 400)
  const longer = await fetch(url + path + 'x'.repeat(8193 - path.length), { headers })
  assert.deepEqual(
    [longer.status, ((await longer.json()) as { error: string }).error],
    [414, 'uri_too_long'],
  )

  const many = { ...headers, 'x-more': 'x'.repeat(16_384) }
  const reply = await fetch(`${url}/api/v2/users`, { headers: many })
  assert.deepEqual(
    [reply.status, ((await reply.json()) as { error: string }).error],
    [431, 'headers_too_large'],
  )
  // Node 24 ignores lines beyond those that it stores: the server must not.
  const lines = async (count: number) => {
    const more = Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, '1']))
    return (await fetch(`${url}/api/v2/users`, { headers: { ...headers, ...more } })).status
  }
  assert.deepEqual([await lines(200), await lines(251), await lines(1_500)], [200, 431, 431])
})
