/** The same deliveries through the real node:http, Express and Fastify. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { fastifyReceiver } from './fastify.ts'
import { nodeReceiver } from './node.ts'
import { type ReceiverOptions, receiver, sign, verify } from './receiver.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
// White space and an escape that parsing would lose: the signature covers these bytes.
const BODY =
  '{ "id":"evt_1", "type":"order.paid", "created":1.8e9, "data":{"object":{"id":"\\u00e9"}} }'

function noted() {
  const handled: string[] = []
  const errors: unknown[] = []
  const options: ReceiverOptions = {
    secrets: SECRET,
    maxBodyBytes: 1000,
    onError: (error) => void errors.push(error),
    onRejected: () => undefined,
    onEvent: ({ id }) => {
      if (id === 'evt_bad') throw new Error('not today')
      handled.push(id)
    },
  }
  return { options, handled, errors }
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.after(() => server.close().closeAllConnections())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
}

async function post(url: string, body: string, headers?: Record<string, string>) {
  headers ??= { ...(await sign({ body, secret: SECRET })), 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', body, headers })
  return [response.status, await response.json()]
}

/** Asserts the behavior that all adapters share. */
async function assertConforms(url: string, handled: readonly string[], errors: readonly unknown[]) {
  assert.deepEqual(await post(url, BODY), [200, { received: true }])
  assert.deepEqual(await post(url, BODY), [200, { received: true }])
  const { 'X-Hub-Signature-256': variantA } = await sign({ body: BODY, secret: SECRET })
  for (const headers of [{}, { 'X-Hub-Signature-256': variantA! }]) {
    assert.deepEqual(await post(url, BODY, headers), [400, { error: 'missing_signature' }])
  }
  assert.deepEqual(await post(url, '', await sign({ body: BODY, secret: SECRET })), [
    400,
    { error: 'signature_mismatch' },
  ])
  assert.deepEqual(await post(url, 'x'.repeat(1001)), [413, { error: 'payload_too_large' }])
  assert.deepEqual(handled, ['evt_1'])
  assert.deepEqual(errors, [])
  assert.deepEqual(await post(url, '{"id":"evt_bad"}'), [500, { error: 'handler_failed' }])
  assert.equal(errors.length, 1)
}

test('node:http', async (t) => {
  const { options, handled, errors } = noted()
  const url = await listen(t, nodeReceiver(options))
  await assertConforms(url, handled, errors)
  const get = await fetch(url)
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
})

/** Sends a body in chunks of a byte, which never ends. Returns the first line of the response. */
async function sendChunks(url: string, count: number): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const head = 'POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(count)}`)
  let text = ''
  for await (const bytes of socket) text += bytes
  return text.split('\r\n')[0]!
}

test('bodies in very many chunks are 413, and end the connection', async (t) => {
  const { options, handled, errors } = noted()
  const largest = { ...options, maxBodyBytes: 6400 }
  const app = fastify()
  app.register(fastifyReceiver('/hooks', largest))
  t.after(() => app.close())
  const fastifyUrl = await app.listen({ port: 0, host: '127.0.0.1' })
  const urls = [await listen(t, nodeReceiver(largest)), `${fastifyUrl}/hooks`]
  for (const url of urls) assert.match(await sendChunks(url, 1125), /^HTTP\/1\.1 413 /)
  const pieces = Array.from({ length: 1125 }, () => Buffer.from('x'))
  const body = ReadableStream.from(pieces)
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit
  assert.equal((await receiver(largest)(new Request('http://x/hooks', init))).status, 413)
  assert.deepEqual([handled, errors], [[], []])
})

test('node:http: a connection that ends in the body is an error for onError', async (t) => {
  const { options, handled, errors } = noted()
  const reported = Promise.withResolvers<void>()
  const onError = (error: unknown) => {
    errors.push(error)
    reported.resolve()
  }
  const url = await listen(t, nodeReceiver({ ...options, onError }))
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{', () => {
    socket.destroy()
  })
  await reported.promise
  assert.deepEqual([handled, errors.length], [[], 1])
  assert.deepEqual(await post(url, BODY), [200, { received: true }])
})

test('node:http: a request without a body is answered, even if Node emits no end', async (t) => {
  const handle = nodeReceiver(noted().options)
  const server = createServer({ optimizeEmptyRequests: true }, (request, response) => {
    handle(request, response)
  })
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write('POST /hooks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const [answer] = await once(socket, 'data')
  assert.match(answer.toString(), /^HTTP\/1\.1 400 /)
})

test('Express, before the JSON parser of the app', async (t) => {
  const { options, handled, errors } = noted()
  const app = express()
  app.post('/hooks', nodeReceiver(options))
  app.use(express.json())
  app.post('/echo', (request, response) => void response.json(request.body))
  const url = await listen(t, app)
  await assertConforms(url, handled, errors)
  const headers = { 'content-type': 'application/json' }
  assert.deepEqual(await post(url.replace('hooks', 'echo'), '{"a":1}', headers), [200, { a: 1 }])
})

test('Express, after express.raw()', async (t) => {
  const { options, handled } = noted()
  const app = express()
  app.post('/hooks', express.raw({ type: () => true }), nodeReceiver(options))
  assert.deepEqual(await post(await listen(t, app), BODY), [200, { received: true }])
  assert.deepEqual(handled, ['evt_1'])
})

test('Express, after express.json(): 500 body_unreadable', async (t) => {
  const { options, handled, errors } = noted()
  const app = express()
  app.use(express.json())
  app.post('/hooks', nodeReceiver(options))
  assert.deepEqual(await post(await listen(t, app), BODY), [500, { error: 'body_unreadable' }])
  assert.match(String(errors[0]), /body parser/)
  assert.deepEqual(handled, [])
})

test('Fastify, beside routes that parse JSON', async (t) => {
  const { options, handled, errors } = noted()
  const app = fastify()
  app.register(fastifyReceiver('/hooks', options))
  app.post('/echo', async (request) => request.body)
  t.after(() => app.close())
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/hooks`
  await assertConforms(url, handled, errors)
  const headers = { 'content-type': 'application/json' }
  assert.deepEqual(await post(url.replace('hooks', 'echo'), '{"a":1}', headers), [200, { a: 1 }])
})

/** Texts of examples and of variables that are not set; the docs' receivers reject them as well. */
const PLACEHOLDERS: string[] = JSON.parse(
  readFileSync(new URL('../../../spec/vectors/placeholder-secrets.json', import.meta.url), 'utf8'),
)

/** Every way to create a receiver. */
const CREATORS: Record<string, (options: ReceiverOptions) => unknown> = {
  receiver,
  nodeReceiver,
  fastifyReceiver: (options) => fastifyReceiver('/hooks', options),
}

for (const [name, create] of Object.entries(CREATORS)) {
  test(`${name}: a wrong secret is a TypeError when the receiver is created`, () => {
    const missing = [undefined, null, '', 7]
    const unclean = [` ${SECRET}`, `${SECRET}\r\n`, 'whsec_a b', 'a\tb', `"${SECRET}"`]
    const quotes = ["'a'", 'whsec_a"b', '`a`', '“a”', '‘a’']
    for (const secret of [...missing, ...unclean, ...quotes, ...PLACEHOLDERS]) {
      for (const secrets of [secret, [secret], [SECRET, secret]] as never[]) {
        assert.throws(() => create({ secrets, onEvent() {} }), TypeError, String(secret))
      }
    }
    assert.throws(() => create({ secrets: [], onEvent() {} }), TypeError)
    create({ secrets: [SECRET, 'x', 'whsec_test'], onEvent() {} })
  })
}

for (const secret of PLACEHOLDERS) {
  test(`verify and sign reject the placeholder ${secret}`, async () => {
    const headers = await sign({ body: BODY, secret: SECRET })
    await assert.rejects(sign({ body: BODY, secret }), TypeError)
    await assert.rejects(verify({ body: BODY, headers, secrets: [SECRET, secret] }), TypeError)
  })
}
