/** The lines of a verifier on the error output: failed verifications, and never a credential. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createVerifier, VerifierUnavailable } from './client.ts'

function printedLines(t: TestContext): readonly string[] {
  const printed: string[] = []
  t.mock.method(console, 'error', (line: string) => printed.push(line))
  return printed
}

test('a failed verification is a line of codes, once in 10 s', async (t) => {
  const printed = printedLines(t)
  let now = 0
  const refused = Object.assign(new Error('of own-key'), { code: 'ECONN\nREFUSED' })
  const fetch = async () => {
    throw new TypeError('fetch failed: own-key', { cause: refused })
  }
  const url = 'http://gatehook.test/base?secret'
  const silent = createVerifier({ url, key: 'own-key', fetch, now: () => now })
  for (now of [0, 9_999, 10_000, 5_000]) {
    const failing = silent.verify({ credential: 'theirs', cost: 1 })
    await assert.rejects(failing, VerifierUnavailable)
  }
  assert.equal(printed.length, 3, 'once in 10 s, and after the clock was set back')
  assert.equal(
    printed[0],
    'gatehook-client: no verification: network_error POST http://gatehook.test/base/keys/verify ' +
      'got no response.; TypeError; ECONN REFUSED',
  )
})

test('no line has a credential, with the fetch of Node or a service that repeats it', async (t) => {
  const body = JSON.stringify({ error: 'invalid_key', message: 'own-key of theirs' })
  const head = `HTTP/1.1 401 X\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  const answers = ['own-key\r\n\r\n', `${head}\r\nconnection: close\r\n\r\n${body}`]
  const server = createServer((socket) => {
    let request = ''
    socket.on('data', (bytes) => {
      request += bytes
      if (request.endsWith('}')) socket.end(answers.shift()!)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const printed = printedLines(t)
  let now = 0
  const url = `http://127.0.0.1:${port}`
  const timeoutMs = 60_000
  const verifier = createVerifier({ url, key: 'own-key\n', timeoutMs, now: () => now })
  for (now of [0, 10_000]) await assert.rejects(verifier.verify({ credential: 'theirs' }))
  const place = `network_error POST ${url}/keys/verify got no response.`
  assert.match(String(printed[0]), /; TypeError; (HTTPParserError|HPE_\w+)$/)
  assert.equal(printed[0]!.indexOf(place), 'gatehook-client: no verification: '.length)
  assert.equal(printed[1], 'gatehook-client: no verification: invalid_key; status 401')
  assert.equal(printed.length, 2)
})

test('a URL with a password and a malformed key are refused, without their text', () => {
  const hasNone = ({ name, message, ...more }: Error) =>
    name === 'TypeError' && !/pa55|secret/.test(message + JSON.stringify(more))
  const address = 'gatehook.test'
  for (const url of [
    `http://user:pa55@${address}`,
    `https://pa55@${address}/base`,
    `http://user:pa55@`,
    `user:pa55@${address}`,
  ]) {
    assert.throws(() => createVerifier({ url, key: 'k' }), hasNone, url)
  }
  for (const key of ['gk_live_secret\nend', 'secret é', 'secret\u0000', 'secret key', ' \n']) {
    assert.throws(() => createVerifier({ url: `http://${address}`, key }), hasNone, key)
  }
})

test('a mistake of onFailure does not replace the answer', async (t) => {
  const printed = printedLines(t)
  const mistakes = [
    () => {
      throw new RangeError('own-key')
    },
    () => Promise.reject(new RangeError('own-key')),
    () => Promise.reject('own-key'),
  ]
  for (const onFailure of mistakes) {
    let now = 0
    let isAway = false
    const fetch = async () => {
      if (isAway) throw new TypeError('fetch failed')
      return Response.json({ active: true, expires_at: null })
    }
    const options = { url: 'http://gatehook.test', key: 'own-key', fetch, now: () => now }
    const { verify } = createVerifier({ ...options, staleS: 60, onFailure })
    await verify({ credential: 'c' })
    now = 10_000
    isAway = true
    assert.equal((await verify({ credential: 'c' })).active, true)
    await assert.rejects(verify({ credential: 'other' }), VerifierUnavailable)
  }
  const line = 'gatehook-client: onFailure failed: '
  assert.deepEqual(printed, [`${line}RangeError`, `${line}RangeError`, `${line}string`])
})
