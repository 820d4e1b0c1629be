/** §15.6, §9.9: `fetch` of a step reaches allowed addresses only, and follows no redirect. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { payments, probe } from '../fixtures/payments.ts'

/** Redirects each request, and counts them. */
async function startRedirecting(t: TestContext) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url!)
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  onEnd(t, () => server.closeAllConnections())
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/first` }
}

for (const [title, env, reply, requests] of [
  ['is refused', {}, { refused: true }, []],
  [
    'is reached where the operator allows it, and its redirect is returned',
    { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
    { status: 302, location: '/elsewhere' },
    ['/first'],
  ],
] as const) {
  eachService(
    `a private address ${title}`,
    async (service, t) => {
      const { url, seen } = await startRedirecting(t)
      probe.run = ({ step }) =>
        step('get', async ({ fetch }) => {
          try {
            const { status, headers } = await fetch(url)
            return { status, location: headers.get('location') }
          } catch {
            return { refused: true }
          }
        })
      const { status, body } = await service.patch('/api/v1/probe', {}, { 'idempotency-key': 'a' })
      assert.deepEqual([status, body, seen], [200, reply, requests])
    },
    { service: payments, env },
  )
}
