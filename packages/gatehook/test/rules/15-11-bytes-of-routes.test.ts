/** §15.11, §15.10: a client sends bytes with their media type, and accepts what a route returns. */
import assert from 'node:assert/strict'
import { createClient } from '../../../../packages/client/src/client.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { f, service } from '../../src/gatehook.ts'

const scope = 'files'
const media = ['text/csv', 'application/pdf'] as const

const api = service({
  name: 'Files',
  versions: { v1: { released: '2026-01-01' } },
  resources: [],
})
  .route({
    method: 'GET',
    path: '/report',
    scope,
    summary: 'Returns a table',
    output: { media: 'text/csv' },
    handle: () => ({ body: 'a,b' }),
  })
  .route({
    method: 'POST',
    path: '/files',
    scope,
    summary: 'Counts bytes',
    input: { media },
    output: { size: f.int() },
    handle: ({ input }) => ({ body: { size: input.length } }),
  })
  .route({
    method: 'POST',
    path: '/copies',
    scope,
    summary: 'Returns bytes',
    input: { media },
    output: { media: 'application/pdf' },
    handle: ({ input }) => ({ body: input }),
  })
  .route({
    method: 'POST',
    path: '/words',
    scope,
    summary: 'Has members of the same names',
    input: { media: f.string(), body: f.string() },
    output: { body: f.string() },
    handle: ({ input }) => ({ body: { body: input.body } }),
  })

eachService(
  'a route sends and receives JSON, text and bytes',
  async ({ app, key }) => {
    const { url: baseUrl } = await app.listen()
    const client = createClient<typeof api>({ baseUrl, apiKey: await key(), version: 'v1' })
    const body = Uint8Array.of(1, 2)
    assert.equal(await client.route('GET /report'), 'a,b')
    for (const medium of media) {
      const input = { media: medium, body }
      assert.deepEqual(await client.route('POST /files', { input }), { size: 2 })
      assert.deepEqual(await client.route('POST /copies', { input }), body)
    }
    const words = { media: 'text/csv', body: 'b' }
    assert.deepEqual(await client.route('POST /words', { input: words }), { body: 'b' })
    const html = { headers: { accept: 'text/html' } }
    await assert.rejects(client.route('GET /report', {}, html), { status: 406 })
  },
  { service: api },
)
