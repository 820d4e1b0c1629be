/**
 * §3.10, §4.7: a response lasts at most 2 s longer than the right to it. The test opens each kind
 * of response that lasts as long as its caller likes, and takes the right away in each way.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eachService } from '../../../../test/rig/service.ts'
import {
  type Begun,
  begin,
  type Caller,
  desk,
  EVENTS,
  EXPORT,
  fill,
  openCallers,
  openLines,
  TICKS,
} from '../http/lasting.ts'
import { openPortal } from '../portal/rig.ts'

const clock = {
  aheadMs: 0,
  now: () => Date.now() + clock.aheadMs,
  bodyMs: 0,
  elapsedMs: () => performance.now() + clock.bodyMs,
}
const lines = openLines()
const options = { service: desk, clock, log: lines.log }

eachService(
  'every lasting response ends once its caller loses the right, in each way',
  async (app, t) => {
    const { url } = await app.app.listen()
    const callers = await openCallers(app)
    await fill(app, [...new Set([...callers.values()].map(({ customer }) => customer))])
    const [{ customer }] = [...callers.values()] as [Caller]
    const other = { 'x-api-key': await app.key({ customer, mode: 'live' }) }
    const control = await begin(t, url, EVENTS, other)
    const begun: [string, Caller, readonly Begun[]][] = []
    for (const [way, caller] of callers) {
      const { headers, responses } = caller
      begun.push([
        way,
        caller,
        await Promise.all(responses.map((lasting) => begin(t, url, lasting, headers))),
      ])
    }
    for (const [, { lose }] of begun) await lose()
    for (const [way, , streams] of begun) {
      for (const { id, path, ending, read } of streams) {
        const reason = await lines.reasonOf(id)
        assert.match(reason, /no longer valid|may do less/, `${way}: ${path}`)
        assert.equal(await read(), ending, `${way}: ${path}`)
      }
    }
    assert.equal(lines.reasons.get(control.id), undefined, 'a caller with its rights reads on')
  },
  options,
)

eachService(
  'a credential that expires ends its responses',
  async (app, t) => {
    const { url } = await app.app.listen()
    const expires_at = new Date(clock.now() + 3_600_000).toISOString()
    const customer = await (await openPortal(app)).customer('expiring')
    const expiring = { 'x-api-key': await app.key({ customer, mode: 'live', expires_at }) }
    await fill(app, [customer])
    const responses = [EXPORT, TICKS, EVENTS]
    const ended = await Promise.all(responses.map((lasting) => begin(t, url, lasting, expiring)))
    clock.aheadMs += 3_600_000
    for (const { id, path, ending, read } of ended) {
      assert.match(await lines.reasonOf(id), /no longer valid/, path)
      assert.equal(await read(), ending, path)
    }
  },
  options,
)

eachService(
  'a body that arrives slowly changes nothing once its caller has lost the right',
  async (app, t) => {
    const { url } = await app.app.listen()
    const { operator: admin, customer } = await openPortal(app)
    const members = { name: 'slow', customer: await customer('slow'), mode: 'live' }
    const scopes = ['notes:read', 'notes:write']
    const { body: key } = await admin.post('/admin/keys', { ...members, scopes })
    const caller = app.as(key.key)
    assert.equal((await caller.get('/api/v1/notes')).status, 200)
    const body = JSON.stringify({ text: 'late' })
    const sent = request(`${url}/api/v1/notes`, {
      method: 'POST',
      headers: {
        'x-api-key': key.key,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    })
    onEnd(t, () => sent.destroy())
    await once(sent, 'continue')
    assert.equal((await admin.delete(`/admin/keys/${key.id}`)).status, 204)
    clock.bodyMs += 1_000
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const { message } = JSON.parse(await text(response))
    assert.equal(response.statusCode, 401)
    assert.match(message, /^Since the request began, the credential is no longer valid/)
  },
  options,
)
