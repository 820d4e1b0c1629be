/** Runs the receivers of the page on webhooks: they accept a signed delivery and no other. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { signatureHeaders } from '../../src/outbound/deliveries/signature.ts'
import { sectionsOf } from './pages.ts'
import { createRunner, withoutPython } from './run-program.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = JSON.stringify({
  id: 'evt_1',
  type: 'order.paid',
  created: 1_780_306_200,
  livemode: false,
  data: { object: { id: 7, status: 'paid' } },
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const headersOf = (secret: string, atS: number): Record<string, string> =>
  signatureHeaders({
    secrets: [{ value: secret }],
    id: 'evt_1',
    type: 'order.paid',
    deliveryId: 'dlv_1',
    attempt: 1,
    atS,
    body: BODY,
    userAgent: 'test',
  })

async function programOf(t: TestContext, language: string): Promise<string> {
  const app = await openService(t, 'sqlite')
  const page = (await app.get('/docs/v2/webhooks.md')).text
  return sectionsOf(page)
    .find(({ id }) => id === 'verify')!
    .programs.get(language)!
}

/** Starts the receiver of a language and returns the status of a POST to it. */
async function startReceiver(t: TestContext, language: string) {
  const program = await programOf(t, language)
  const port = await freePort()
  createRunner(t).start(language, program, { SECRET, PORT: String(port) })
  const url = `http://127.0.0.1:${port}/`
  const send = async (headers: Record<string, string>, body: string): Promise<number> =>
    (await fetch(url, { method: 'POST', headers, body })).status
  const isListening = () => send({}, '').then(Boolean, () => false)
  await eventually(isListening, Boolean, 15_000)
  return send
}

for (const language of ['TypeScript', 'Python']) {
  const skip = language === 'Python' && withoutPython()
  test(`the receiver in ${language} verifies the signature`, { skip }, async (t) => {
    const send = await startReceiver(t, language)
    const nowS = Math.floor(Date.now() / 1000)
    assert.equal(await send(headersOf(SECRET, nowS), BODY), 200)
    assert.equal(await send(headersOf(SECRET, nowS), BODY.replace('paid', 'sold')), 400)
    assert.equal(await send(headersOf(`${SECRET}x`, nowS), BODY), 400)
    assert.equal(await send(headersOf(SECRET, nowS - 3600), BODY), 400)
    assert.equal(await send({ 'content-type': 'application/json' }, BODY), 400)
  })

  test(`the receiver in ${language} does not start without its secret`, { skip }, async (t) => {
    const program = await programOf(t, language)
    const runner = createRunner(t)
    for (const env of [{ PORT: '0' }, { PORT: '0', SECRET: '' }]) {
      await assert.rejects(runner.run(language, program, env), /exits with 1:/)
    }
  })
}
