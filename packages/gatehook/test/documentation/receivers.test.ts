/**
 * Runs the receivers of the page on webhooks, in the order of the page: without a secret, and with
 * it. They accept a signed delivery and no other.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { freePort } from '../../../../test/rig/postgres.ts'
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

const PLACEHOLDERS: string[] = JSON.parse(
  readFileSync(
    new URL('../../../../spec/vectors/placeholder-secrets.json', import.meta.url),
    'utf8',
  ),
)

type Send = (headers: Record<string, string>, body?: string) => Promise<number>

/** Starts the receiver of a language and returns the status of a POST to it. */
async function startReceiver(
  t: TestContext,
  language: string,
  env: Record<string, string>,
): Promise<Send> {
  const program = await programOf(t, language)
  const port = await freePort()
  createRunner(t).start(language, program, { ...env, PORT: String(port) })
  const url = `http://127.0.0.1:${port}/`
  const send: Send = async (headers, body = BODY) =>
    (await fetch(url, { method: 'POST', headers, body })).status
  const isListening = () => send({}, '').then(Boolean, () => false)
  await eventually(isListening, Boolean)
  return send
}

/** Values of `Gatehook-Signature` that no sender writes. */
const MALFORMED = ['', 'x', ',', '=', 't', 't=', 't=x,v1=1', 't=²,v1=1', 't=-1,v1=1', 't=1e9,v1=1']
const WITHOUT_A_SIGNATURE = ['', ',v1', ',v1=', ',v1=x', ',v1=é', ',v0=1', ',,=,v1=1']

for (const language of ['TypeScript', 'Python']) {
  const skip = language === 'Python' && withoutPython()
  test(`the receiver in ${language} verifies the signature`, { skip }, async (t) => {
    const send = await startReceiver(t, language, { SECRET })
    const nowS = Math.floor(Date.now() / 1000)
    assert.equal(await send(headersOf(SECRET, nowS)), 200)
    assert.equal(await send(headersOf(SECRET, nowS), BODY.replace('paid', 'sold')), 400)
    assert.equal(await send(headersOf(`${SECRET}x`, nowS)), 400)
    assert.equal(await send(headersOf(SECRET, nowS - 3600)), 400)
    assert.equal(await send({ 'content-type': 'application/json' }), 400)
    const current = WITHOUT_A_SIGNATURE.map((rest) => `t=${nowS}${rest}`)
    for (const header of [...MALFORMED, `t=${'9'.repeat(5000)},v1=1`, ...current]) {
      assert.equal(await send({ 'gatehook-signature': header }), 400, header)
    }
    // A response to each of them means that the receiver still works.
    assert.equal(await send(headersOf(SECRET, nowS)), 200)
  })

  test(`the receiver in ${language} responds with 400 until it has a secret`, {
    skip,
  }, async (t) => {
    const nowS = Math.floor(Date.now() / 1000)
    for (const env of [{}, { SECRET: '' }]) {
      const send = await startReceiver(t, language, env)
      assert.equal(await send({}), 400)
      assert.equal(await send({ 'gatehook-signature': `t=${nowS},v1=${emptyKeyMac(nowS)}` }), 400)
    }
  })

  test(`the receiver in ${language} does not start with a placeholder`, { skip }, async (t) => {
    const program = await programOf(t, language)
    const runner = createRunner(t)
    for (const secret of PLACEHOLDERS) {
      const env = { PORT: '0', SECRET: secret }
      await assert.rejects(runner.run(language, program, env), /exits with 1:/, secret)
    }
  })
}

/** Returns the MAC of the body by a receiver that uses the empty text as its secret. */
const emptyKeyMac = (atS: number): string =>
  createHmac('sha256', '').update(`${atS}.${BODY}`).digest('hex')
