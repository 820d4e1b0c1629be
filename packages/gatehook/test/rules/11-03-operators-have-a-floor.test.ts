/** §11.3: a small limit leaves administration and metrics usable, within a limit of their own. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const LIMIT = 3
const FLOOR = 300

eachService(
  'a small limit leaves administration and metrics usable, also beyond the total of the customer',
  async (service) => {
    const key = (scope: string) => service.key({ scopes: [scope], mode: 'live' })
    const admin = service.as(await key('admin'))
    const scraper = service.as(await key('metrics:read'))
    const caller = service.as(await key('orders:read'))
    const others = await Promise.all(
      Array.from({ length: 10 }, async () => service.as(await key('orders:read'))),
    )
    const statuses: number[] = []
    for (const each of [...others, caller]) {
      for (let n = 0; n <= LIMIT; n++) statuses.push((await each.get('/api/v2/orders')).status)
    }
    assert.equal(statuses.at(-1), 429)
    assert.equal(statuses.filter((status) => status === 200).length, 10 * LIMIT)
    for (let n = 0; n < 2 * LIMIT; n++) {
      assert.equal((await admin.get('/admin/attention')).status, 200)
      assert.equal((await scraper.get('/metrics')).status, 200)
    }
    const stranger = service.as(undefined)
    for (let n = 0; n <= LIMIT; n++) await stranger.get('/openapi/v2.json')
    assert.equal((await stranger.get('/openapi/v2.json')).status, 429)
    assert.equal((await stranger.get('/metrics')).status, 200, 'a scraper on this machine')
    const { headers } = await admin.get('/admin/customers')
    assert.equal(headers['ratelimit-policy'], `"default";q=${FLOOR};w=60`)
  },
  { env: { GATEHOOK_RATE_LIMIT: `${LIMIT}/60` } },
)
