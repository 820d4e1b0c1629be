/** §9.9, §15.6: own code's `fetch` bounds a body, also one that is small until it is decoded. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { LIMITS } from '../../src/outbound/transport/transport.ts'
import { createTestTransport } from './receivers.ts'

const CODINGS = { gzip: gzipSync, br: brotliCompressSync, identity: (body: Buffer) => body }

test('a body has at most 8 MiB, however it is coded', async (t) => {
  const server = createServer(({ url }, response) => {
    const [, coding, size] = url!.split('/') as ['', keyof typeof CODINGS, string]
    const body = CODINGS[coding](Buffer.alloc(Number(size), 'a'))
    response.writeHead(200, { 'content-encoding': coding, etag: '"all"' })
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  onEnd(t, () => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const { guardedFetch } = createTestTransport(t)
  for (const coding of Object.keys(CODINGS)) {
    const url = `http://127.0.0.1:${port}/${coding}/`
    const whole = await guardedFetch(`${url}${LIMITS.fetchedBytes}`)
    assert.deepEqual(
      [whole.status, whole.headers.get('etag'), whole.url],
      [200, '"all"', `${url}${LIMITS.fetchedBytes}`],
    )
    assert.equal((await whole.arrayBuffer()).byteLength, LIMITS.fetchedBytes)
    const excessive = async () =>
      (await guardedFetch(`${url}${LIMITS.fetchedBytes + 1}`)).arrayBuffer()
    await assert.rejects(excessive, coding)
  }
})
