/** The README quotes `example/orders.ts` and its output. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listPage, type ReceivedRequest, serve } from '../test/service.ts'

/** A service with one order that can be paid once (§6.4). */
function ordersService() {
  let order = { id: 121, status: 'pending' }
  return ({ method, url, headers, body }: ReceivedRequest) => {
    if (headers['x-api-key'] !== 'gk_test_1') return { status: 403, body: {} }
    if (method === 'GET') {
      assert.deepEqual(url.searchParams.toString(), 'status=paid&id%5Bgte%5D=121')
      return { body: { ...Object(listPage([121], url)), data: [order] } }
    }
    if (url.pathname === '/api/v2/orders') {
      return { status: 201, body: (order = { ...order, ...Object(body) }) }
    }
    assert.equal(url.pathname, '/api/v2/orders/121/pay')
    if (order.status !== 'pending') return { status: 409, body: { error: 'invalid_state' } }
    return { body: (order = { ...order, status: 'paid' }) }
  }
}

test('the example of the README runs and prints the quoted output', async (t) => {
  const path = fileURLToPath(new URL('../example/orders.ts', import.meta.url))
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code, printed] =
    /<!-- example\/orders\.ts -->\n```ts\n(.*?)```\n\nprints\n\n```\n(.*?)```/s.exec(readme)!
  assert.equal(code, readFileSync(path, 'utf8'))
  const { baseUrl } = await serve(t, ordersService())
  const env = { ...process.env, GATEHOOK_URL: baseUrl, GATEHOOK_API_KEY: 'gk_test_1' }
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env })
  assert.equal(stdout, printed)
})
