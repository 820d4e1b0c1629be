/** §9.11: `GET /events/stream` sends new events, and resumes without a gap. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { revokeKey } from '../../src/identity/access/keys.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { listen } from '../events/listen.ts'

/** Concurrent requests that a loaded server accepts. */
const AT_ONCE = 25

const user = (n: number | string) => ({ name: 'Ada', email: `u${n}@example.com` })

eachService('streamed events equal listed ones', async ({ app, key, post, get }, t) => {
  await post('/api/v2/users', user('before'))
  const { url } = await app.listen()
  const stream = await listen(t, url, await key())
  assert.equal(stream.status, 200)
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await post('/api/v2/users', user(1))
  await post('/events', { type: 'payment.succeeded', object: { id: 1 } })
  const streamed = [await stream.next(), await stream.next()]
  const { data } = (await get('/events')).body
  assert.deepEqual(
    streamed,
    data.slice(1).map((event: { id: string }) => ({ id: event.id, event })),
  )
})

eachService(
  'a client that reconnects with the last id misses no event',
  async ({ app, key, post }, t) => {
    const { url } = await app.listen()
    const secret = await key()
    const first = await listen(t, url, secret)
    await post('/api/v2/users', user(0))
    const seen = (await first.next())!
    first.close()
    const many = Array.from({ length: 250 }, (_, n) => n + 1)
    for (let from = 0; from < many.length; from += AT_ONCE) {
      const some = many.slice(from, from + AT_ONCE)
      const replies = await Promise.all(some.map((n) => post('/api/v2/users', user(n))))
      for (const { status, text } of replies) assert.equal(status, 201, text)
    }
    const second = await listen(t, url, secret, { after: seen.id })
    const got = new Set<number>()
    for (const _ of many) got.add((await second.next())!.event.data.object.id)
    assert.equal(got.size, many.length)
    assert.ok(!got.has(seen.event.data.object.id))
  },
)

eachService('a stream has the events of its own mode and types only', async (service, t) => {
  const { app, as, key, post } = service
  const { url } = await app.listen()
  const live = await key({ mode: 'live' })
  const stream = await listen(t, url, live, { query: '?types=user.*' })
  await post('/api/v2/users', user('test'))
  await as(live).post('/events', { type: 'payment.succeeded', object: { id: 1 } })
  await as(live).post('/api/v2/users', user('live'))
  const { event } = (await stream.next())!
  assert.deepEqual([event.type, event.livemode], ['user.created', true])
})

eachService('a revoked key and a draining server end the stream', async ({ app, key }, t) => {
  const { url } = await app.listen()
  const streams = [await listen(t, url, await key())]
  const others = await readKeyIds(app)
  streams.push(await listen(t, url, await key()))
  const [revoked] = (await readKeyIds(app)).filter((id) => !others.includes(id))
  const actor = { kind: 'cli', id: 'test' } as const
  const { record: _, ...quiet } = app.administration // suppresses the event `key.revoked`
  await revokeKey(quiet, revoked!, { actor })
  assert.equal(await streams[1]!.next(), undefined)
  const closing = app.close()
  assert.equal(await streams[0]!.next(), undefined)
  await closing
})

async function readKeyIds({ db }: TestApp['app']): Promise<string[]> {
  const rows = await db.all<{ id: string }>(sql`SELECT id FROM gh_api_keys`)
  return rows.map(({ id }) => id)
}

eachService(
  'invalid parameters are 400; a sixth stream of a credential is 429',
  async ({ app, key, get }, t) => {
    const { url } = await app.listen()
    const secret = await key()
    for (const after of ['evt_', 'x', '1', 'evt_00000000000000000000000000']) {
      assert.equal((await listen(t, url, secret, { after })).status, 400, after)
    }
    for (const query of ['?limit=1', '?types=a&types=b']) {
      assert.equal((await listen(t, url, secret, { query })).status, 400, query)
    }
    assert.equal((await get('/events/stream', { accept: 'application/json' })).status, 406)
    for (let n = 0; n < 5; n++) assert.equal((await listen(t, url, secret)).status, 200)
    const refused = await listen(t, url, secret)
    assert.equal(refused.status, 429)
    assert.ok(refused.headers.get('retry-after'))
    assert.equal((await listen(t, url, await key())).status, 200)
  },
)
