/** §15.6: own code's `fetch` sends what the platform's sends, and returns its `Response`. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Agent } from 'undici'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { fetchUntil } from '../../src/declare/resources/own-words.ts'
import { createTransport } from '../../src/outbound/transport/transport.ts'
import { createTestTransport } from './receivers.ts'

/** Responds with the method, the media type and the body of each request. */
async function startEcho(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method, headers } = request
    const chunks = await Array.fromAsync<Buffer>(request)
    response.end(
      JSON.stringify([method, headers['content-type'], Buffer.concat(chunks).toString()]),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  onEnd(t, () => server.closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const endless = () => new AbortController().signal

function formData(): FormData {
  const form = new FormData()
  form.set('name', 'Anna')
  return form
}

const BODIES: readonly [
  kind: string,
  body: () => RequestInit['body'],
  type: RegExp,
  text: RegExp,
][] = [
  ['a text', () => 'a text', /^text\/plain/, /^a text$/],
  ['bytes', () => new TextEncoder().encode('bytes'), /^none$/, /^bytes$/],
  ['a buffer', () => new TextEncoder().encode('buffer').buffer, /^none$/, /^buffer$/],
  ['a Blob', () => new Blob(['blob'], { type: 'image/png' }), /^image\/png$/, /^blob$/],
  ['parameters', () => new URLSearchParams({ a: 'b c' }), /urlencoded/, /^a=b\+c$/],
  ['a form', formData, /^multipart\/form-data; boundary=/, /name="name"\r\n\r\nAnna\r\n/],
  ['a stream', () => new Blob(['stream']).stream(), /^none$/, /^stream$/],
]

for (const [kind, body, type, text] of BODIES) {
  test(`${kind} arrives as the platform sends it, alone and in a Request`, async (t) => {
    const url = await startEcho(t)
    const fetchOfStep = fetchUntil(createTestTransport(t).guardedFetch, endless)
    const init = () => ({ method: 'POST', body: body(), duplex: 'half' }) as RequestInit
    for (const response of [
      await fetchOfStep(url, init()),
      await fetchOfStep(new Request(url, init())),
    ]) {
      assert.ok(response instanceof Response)
      const [method, sentType, sent] = (await response.json()) as [string, string | null, string]
      assert.equal(method, 'POST')
      assert.match(sentType ?? 'none', type)
      assert.match(sent, text)
    }
  })
}

test('a request ends with the signal of its Request, its options and the step', async (t) => {
  const url = await startEcho(t)
  const { guardedFetch } = createTestTransport(t)
  const ended = () => AbortSignal.abort(new Error('ended'))
  for (const call of [
    () => fetchUntil(guardedFetch, endless)(new Request(url, { signal: ended() })),
    () => fetchUntil(guardedFetch, endless)(new Request(url), { signal: ended() }),
    () => fetchUntil(guardedFetch, endless)(url, { signal: ended() }),
    () => fetchUntil(guardedFetch, ended)(new Request(url)),
  ]) {
    await assert.rejects(call, /ended/)
  }
})

test('no Request and no dispatcher of own code reaches a private address', async (t) => {
  const url = await startEcho(t)
  const clock = { elapsedMs: () => 0 }
  const transport = createTransport({ clock, allowPrivate: false, timeoutMs: 5_000 })
  onEnd(t, () => transport.close())
  const dispatcher = new Agent()
  onEnd(t, () => dispatcher.destroy())
  const own = { dispatcher } as object as RequestInit
  await assert.rejects(transport.guardedFetch(url, own))
  await assert.rejects(transport.guardedFetch(new Request(url, own)))
})

test('a reader that pauses gets every byte', async (t) => {
  const body = Buffer.alloc(2 * 1024 * 1024, 'a body that takes many reads of the socket, ')
  const server = createServer(async (_, response) => {
    for (let at = 0; at < body.length; at += 5_000) {
      response.write(body.subarray(at, at + 5_000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  onEnd(t, () => server.closeAllConnections())
  const { guardedFetch } = createTestTransport(t)
  const { port } = server.address() as AddressInfo
  const response = await guardedFetch(`http://127.0.0.1:${port}/`)
  const parts: Uint8Array[] = []
  for await (const part of response.body!) {
    parts.push(part)
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(Buffer.concat(parts).equals(body))
})
