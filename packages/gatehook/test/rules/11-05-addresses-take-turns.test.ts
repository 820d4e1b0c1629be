/** §11.5: no address stops the process by one request on each of its many connections. */
import assert from 'node:assert/strict'
import { type Duplex, duplexPair } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate as afterTurn } from 'node:timers/promises'
import { wallClock } from '../../src/kernel/clock.ts'
import { start } from '../http/rig.ts'

/**
 * A server whose requests and rejections take a second each, as its clock says.
 *
 * @param readingMs what each reading of the clock takes
 */
async function slowServer(t: TestContext, readingMs = 0) {
  const served: string[] = []
  let elapsedMs = 0
  const clock = {
    now: () => {
      elapsedMs += 1_000
      return wallClock.now()
    },
    elapsedMs: () => (elapsedMs += readingMs),
  }
  const handle = ({ address }: { readonly address: string }) => {
    served.push(address)
    return { status: 200, json: '{}' }
  }
  const operation = { authenticated: false, handle }
  const methods = { GET: operation, POST: { ...operation, body: 'required' as const } }
  const more = [{ kind: 'public' as const, path: '/costly', methods }]
  const { server, logged } = await start(t, { clock, more, trustProxy: '10.0.0.1' })
  const answers: string[] = []
  /** Opens a connection of an address, or of the proxy for it, that sends some text. */
  const send = (text: string, address: string, proxy = ''): Duplex => {
    const [near, far] = duplexPair()
    server.connect(Object.assign(far, { remoteAddress: proxy || address }))
    near.once('close', () => far.destroy())
    near.on('data', (bytes: Buffer) => answers.push(`${address} ${bytes.toString().slice(9, 12)}`))
    near.write(text.replace('FROM', proxy ? address : '127.0.0.1'))
    return near
  }
  return { server, served, answers, logged, send }
}

const REQUEST =
  'GET /costly HTTP/1.1\r\nhost: api.example\r\n' +
  'x-forwarded-for: FROM\r\nx-forwarded-proto: https\r\n\r\n'

async function turnsUntil(isDone: () => boolean): Promise<number> {
  let turns = 0
  for (; !isDone(); turns++) {
    assert.ok(turns < 1_000)
    await afterTurn()
  }
  return turns
}

test('clients of a proxy take turns, and a turn serves a part of the requests', async (t) => {
  const { served, send } = await slowServer(t)
  for (let n = 0; n < 100; n++) send(REQUEST, '192.0.2.1', '10.0.0.1')
  send(REQUEST, '192.0.2.2', '10.0.0.1')
  await turnsUntil(() => served.length > 0)
  assert.equal(served.length, 1)
  const turns = await turnsUntil(() => served.includes('192.0.2.2'))
  assert.ok(served.length <= 4 && turns <= 4, `${served.length} requests, ${turns} turns`)
  assert.ok((await turnsUntil(() => served.length === 101)) > 90)
})

test('bodies that become whole at once take turns as well', async (t) => {
  const { served, send } = await slowServer(t, 1)
  const head = REQUEST.replace('GET', 'POST').replace(
    'x-forwarded-for',
    'content-type: application/json\r\ncontent-length: 2\r\nx-forwarded-for',
  )
  const clients = []
  for (let n = 0; n < 20; n++) {
    clients.push(send(`${head}{`, '192.0.2.1', '10.0.0.1'))
    for (let wait = 0; wait < 5; wait++) await afterTurn()
  }
  assert.equal(served.length, 0)
  for (const client of clients) client.write('}')
  await turnsUntil(() => served.length > 0)
  assert.ok(served.length < 10, `${served.length}`)
  assert.ok((await turnsUntil(() => served.length === 20)) >= 3)
})

test('bytes that are no request take turns as well', async (t) => {
  const { answers, send } = await slowServer(t)
  // While the first request takes its second, the parser rejects the others.
  send(REQUEST, '10.9.9.9', '10.0.0.1')
  for (let n = 0; n < 20; n++) send('NONSENSE\r\n\r\n', '192.0.2.1')
  await turnsUntil(() => answers.length > 0)
  assert.deepEqual(answers, ['10.9.9.9 200'])
  await turnsUntil(() => answers.length === 21)
})

test('a request whose client has left has no work', async (t) => {
  const { server, served, send } = await slowServer(t)
  send(REQUEST, '192.0.2.1', '10.0.0.1')
  const waiting = [1, 2, 3].map(() => send(REQUEST, '192.0.2.1', '10.0.0.1'))
  await turnsUntil(() => served.length > 0)
  for (const client of waiting) client.destroy()
  for (let n = 0; n < 10; n++) await afterTurn()
  assert.equal(served.length, 1)
  assert.equal(await server.drain(1_000), true, 'no request is left')
})
