/**
 * §9.9, §11.5: whatever reads a foreign server bounds the pieces that arrive, not only their bytes:
 * each header, chunk and trailer is a call of the parser, on a thread that serves all customers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { BodyBytes } from '../../src/outbound/transport/body-bytes.ts'
import { fetchBounded } from '../../src/outbound/transport/fetch-bounded.ts'
import { createDocumentFetcher } from '../../src/outbound/transport/fetch-document.ts'
import { LIMITS } from '../../src/outbound/transport/transport.ts'
import { createUpstreams } from '../../src/outbound/transport/upstreams.ts'
import { createReceiver, createTestTransport } from './receivers.ts'

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
const SHORT = `${HEAD}Content-Length: 1\r\n\r\n1`
const EARLY = 'HTTP/1.1 103 Early\r\n'
const chunk = (text: string, extension = '') =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`
const TEXT = `"${'a'.repeat(14_000)}"`
const inChunks = (bytes: number) =>
  `${CHUNKED}${TEXT.match(new RegExp(`.{1,${bytes}}`, 'g'))!
    .map((text) => chunk(text))
    .join('')}${chunk('')}`

/** A JSON text that each reader accepts in one chunk. */
const inBytes = (extension: string) =>
  CHUNKED +
  Array.from(`"${'a'.repeat(16_000)}"`, (byte) => chunk(byte, extension)).join('') +
  chunk('')

const TINY = {
  'chunks of a byte': inBytes(''),
  'chunks with extensions': inBytes(';a'),
  'an extension of 200 KB': `${CHUNKED}${chunk('1', `;a=${'b'.repeat(200_000)}`)}${chunk('')}`,
  'trailers of a letter': `${CHUNKED}${chunk('1')}0\r\n${'a:\r\n'.repeat(16_000)}\r\n`,
  'headers of a letter': `${HEAD}${'a:\r\n'.repeat(16_000)}Content-Length: 1\r\n\r\n1`,
  'interim headers of a letter': `${EARLY}${'a:\r\n'.repeat(5_000)}\r\n${SHORT}`,
  'interim responses': `${`${EARLY}\r\n`.repeat(17)}${SHORT}`,
} as const

type Reader = (url: string) => Promise<string>
type Open = (t: Parameters<typeof createTestTransport>[0]) => Reader

/** Each reader of a server that a caller chose; it rejects, or returns the body. */
const STRANGERS: Readonly<Record<string, Open>> = {
  'an attempt, a ping or a test delivery': (t) => {
    const { post } = createTestTransport(t)
    return async (url) => {
      const outcome = await post(url)
      if (outcome.kind === 'failed') throw new Error(outcome.reason)
      // The status counts; the body was not read on.
      if (outcome.isWhole) return outcome.body
      throw new Error(outcome.body.length <= LIMITS.framingBytes ? 'cut' : 'late')
    }
  },
  'a document or a key set': (t) => {
    const { send } = createTestTransport(t)
    const fetchDocument = createDocumentFetcher({
      send,
      userAgent: 'Gatehook/1',
      clock: { now: () => 0 },
    })
    return async (url) => JSON.stringify((await fetchDocument(url, 16_384)).value)
  },
  'fetch of own code': (t) => {
    const { guardedFetch } = createTestTransport(t)
    return async (url) => (await guardedFetch(url)).text()
  },
}

for (const [reader, open] of Object.entries(STRANGERS)) {
  for (const [pieces, text] of Object.entries(TINY)) {
    test(`${reader} reads no ${pieces}`, async (t) => {
      const { url } = await createReceiver(t, (socket) => socket.write(text))
      await assert.rejects(open(t)(url), ({ message }: Error) => message !== 'late')
    })
  }

  test(`${reader} reads chunks of 48 bytes, response after response`, async (t) => {
    const { url } = await createReceiver(t, (socket) => socket.write(inChunks(48)))
    const read = open(t)
    for (let i = 0; i < 3; i++) assert.equal(await read(url), TEXT)
  })
}

test('chunks of the usual size leave the connection open', async (t) => {
  const { url, sockets } = await createReceiver(t, (socket) => socket.write(inChunks(48)))
  const { post } = createTestTransport(t)
  for (let i = 0; i < 3; i++) await post(url)
  assert.equal(sockets.length, 1)
})

test('an identity provider sends at most 4,096 chunks', async (t) => {
  const { url } = await createReceiver(t, (socket) => socket.write(TINY['chunks of a byte']))
  await assert.rejects(fetchBounded(url, {}), /more than 4096 chunks/)
})

test('an upstream may send chunks of a byte, which are one buffer', async (t) => {
  const { url } = await createReceiver(t, (socket) => socket.write(TINY['chunks of a byte']))
  const upstreams = createUpstreams({ elapsedMs: () => 0 })
  onEnd(t, () => upstreams.close())
  const { origin } = new URL(url)
  const request = { origin, method: 'GET', path: '/', headers: {}, body: null } as const
  const owner = { group: 'customer', caller: 'key' }
  const outcome = await upstreams.send({ ...request, timeoutMs: 60_000, reads: 'whole' }, owner)
  assert.ok(outcome.kind === 'answered')
  assert.equal(outcome.body.toString(), `"${'a'.repeat(16_000)}"`)
})

test('a body of small chunks takes at most twice its size', () => {
  const body = new BodyBytes()
  for (let i = 0; i < 40_000; i++) body.add(Buffer.from('a'))
  assert.equal(body.read().toString(), 'a'.repeat(40_000))
  assert.ok(body.read().buffer.byteLength <= 80_000)
})
