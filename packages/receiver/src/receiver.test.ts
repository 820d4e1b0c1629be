import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  memoryStore,
  type ReceiverOptions,
  receiver,
  sign,
  type VerificationErrorCode,
} from './receiver.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const NOW = 1_800_000_000

const event = (id: string, created = NOW, object: unknown = { id: 7 }, type = 'order.updated') => ({
  id,
  type,
  created,
  livemode: false,
  data: { object },
})

async function delivery(payload: unknown, timestamp = NOW): Promise<Request> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const headers = await sign({ body, secret: SECRET, timestamp })
  return new Request('https://example.com/hooks', { method: 'POST', headers, body })
}

/** A receiver that records handled and dropped events. */
function noted(more: Partial<ReceiverOptions> = {}) {
  const handled: string[] = []
  const dropped: [string, string][] = []
  const errors: unknown[] = []
  const rejected: string[] = []
  const handle = receiver({
    secrets: [SECRET],
    now: () => NOW,
    onEvent: ({ id }) => void handled.push(id),
    onDropped: ({ id }, reason) => void dropped.push([id, reason]),
    onError: (error) => void errors.push(error),
    onRejected: ({ code }) => void rejected.push(code),
    ...more,
  })
  const send = async (payload: unknown, timestamp?: number) => {
    const response = await handle(await delivery(payload, timestamp))
    return [response.status, await response.json()]
  }
  return { handle, send, handled, dropped, errors, rejected }
}

const OK = [200, { received: true }]

test('an event is handled and answered 200 {received: true}', async () => {
  const { send, handled } = noted()
  assert.deepEqual(await send(event('evt_1')), OK)
  assert.deepEqual(handled, ['evt_1'])
})

test('a delivery that is not authentic is 400 {error}, without onEvent', async () => {
  const { handle, send, handled, errors } = noted()
  assert.deepEqual(await send(event('evt_1'), NOW - 301), [
    400,
    { error: 'timestamp_outside_window' },
  ])
  const unsigned = await handle(new Request('https://example.com/', { method: 'POST', body: '{}' }))
  assert.equal(unsigned.status, 400)
  assert.match(unsigned.headers.get('content-type')!, /^application\/json/)
  assert.deepEqual(await unsigned.json(), { error: 'missing_signature' })
  const request = await delivery(event('evt_1'))
  const changed = new Request(request, { body: JSON.stringify(event('evt_2')) })
  assert.deepEqual(await (await handle(changed)).json(), { error: 'signature_mismatch' })
  assert.deepEqual([handled, errors], [[], []])
})

/** A delivery of each code of a response 400. The body names its code. */
async function rejectedDeliveries(): Promise<Map<VerificationErrorCode, Request>> {
  const signed = async (code: string, secret: string, timestamp: number) => {
    const body = JSON.stringify([code])
    const headers = await sign({ body, secret, timestamp })
    return new Request('https://example.com/hooks', { method: 'POST', headers, body })
  }
  const malformed = await signed('malformed_signature', SECRET, NOW)
  malformed.headers.set('Gatehook-Signature', 'none')
  const unsigned = new Request('https://example.com/', { method: 'POST', body: '[1]' })
  return new Map<VerificationErrorCode, Request>([
    ['missing_signature', unsigned],
    ['malformed_signature', malformed],
    ['timestamp_outside_window', await signed('timestamp_outside_window', SECRET, NOW - 301)],
    ['signature_mismatch', await signed('signature_mismatch', `${SECRET}x`, NOW)],
    ['invalid_event', await signed('invalid_event', SECRET, NOW)],
  ])
}

test('each response 400 is a call of onRejected with its code', async () => {
  const { handle, rejected, errors } = noted()
  const deliveries = await rejectedDeliveries()
  for (const [code, request] of deliveries) {
    const response = await handle(request)
    assert.deepEqual([response.status, await response.json()], [400, { error: code }])
  }
  assert.deepEqual([rejected, errors], [[...deliveries.keys()], []])
})

test('without onRejected, each code is a warning once a minute, without secrets', async (t) => {
  const warn = t.mock.method(console, 'warn', () => undefined)
  const lines = () => warn.mock.calls.map(({ arguments: [line] }) => String(line))
  let now = NOW
  const { handle } = noted({ onRejected: undefined, now: () => now })
  const sendAll = async () => {
    for (const request of (await rejectedDeliveries()).values()) await handle(request)
  }
  for (const _ of [1, 2, 3]) await sendAll()
  const codes = [...(await rejectedDeliveries()).keys()]
  assert.deepEqual(
    lines().map((line) => / 400 (\w+): /.exec(line)?.[1]),
    codes,
  )
  now += 60
  await sendAll()
  assert.equal(lines().length, 2 * codes.length)
  for (const line of lines()) assert.doesNotMatch(line, /whsec|MfKQ9r8|\[/)
})

test('a signed body that is not an event is 400 invalid_event', async () => {
  const { send } = noted({ schemes: ['B'] })
  for (const payload of ['', 'null', '7', '[]', '{}', '{"id":5}', '{"id":""}', 'not JSON']) {
    assert.deepEqual(await send(payload), [400, { error: 'invalid_event' }], payload)
  }
})

test('an event without an id is deduplicated by its signed webhook-id', async () => {
  const { send, handled } = noted({
    schemes: ['standard'],
    onEvent: (_, { id }) => void handled.push(id.slice(0, 4)),
  })
  assert.deepEqual(await send({ type: 'contact.created', data: {} }), OK)
  assert.deepEqual(handled, ['msg_'])
})

test('an event is handled once, also if it is delivered again', async () => {
  const { send, handled, dropped } = noted()
  for (const _ of [1, 2, 3]) assert.deepEqual(await send(event('evt_1')), OK)
  assert.deepEqual(handled, ['evt_1'])
  assert.deepEqual(dropped, [
    ['evt_1', 'duplicate'],
    ['evt_1', 'duplicate'],
  ])
})

test('concurrent deliveries of one event are handled once, with the same response', async () => {
  const entered = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let calls = 0
  const { send } = noted({
    onEvent: async ({ id }) => {
      if (id !== 'evt_1') return
      calls++
      entered.resolve()
      await gate.promise
    },
  })
  const first = send(event('evt_1'))
  await entered.promise
  const second = send(event('evt_1'))
  // Complete other deliveries, so that the second one has reached its wait.
  for (const id of ['evt_2', 'evt_3', 'evt_4']) await send(event(id))
  gate.resolve()
  assert.deepEqual(await Promise.all([first, second]), [OK, OK])
  assert.equal(calls, 1)
})

test('an onEvent that throws is 500, and the next attempt is handled', async () => {
  const broken = new Error('database is down')
  const outcomes: (Error | undefined)[] = [broken, undefined]
  let calls = 0
  const { send, errors } = noted({
    onEvent: async () => {
      calls++
      const outcome = outcomes.shift()
      if (outcome) throw outcome
    },
  })
  assert.deepEqual(await send(event('evt_1')), [500, { error: 'handler_failed' }])
  assert.deepEqual(errors, [broken])
  assert.deepEqual(await send(event('evt_1')), OK)
  assert.deepEqual(await send(event('evt_1')), OK)
  assert.equal(calls, 2)
})

test('a store that fails is 500, so that the sender retries', async () => {
  const store = { ...memoryStore(), has: () => Promise.reject(new Error('store is down')) }
  const { send, handled, errors } = noted({ store })
  assert.equal((await send(event('evt_1')))[0], 500)
  assert.deepEqual([handled, errors.length], [[], 1])
})

/** Sends events of several objects, one of which is older than the newest handled one. */
async function sendOneStale(send: (payload: unknown) => Promise<unknown>) {
  const events = [
    event('evt_new', NOW),
    event('evt_old', NOW - 1),
    event('evt_same', NOW),
    event('evt_other', NOW - 9, { id: 8 }),
    event('evt_user', NOW - 9, { id: 7 }, 'user.updated'),
    { ...event('evt_live', NOW - 9), livemode: true },
    event('evt_bare', NOW - 9, {}),
  ]
  for (const payload of events) assert.deepEqual(await send(payload), OK)
  return events.map(({ id }) => id)
}

test('an older event of the same object reaches onEvent as stale', async () => {
  const handled: [string, boolean][] = []
  const { send, dropped } = noted({
    onEvent: ({ id }, { stale }) => void handled.push([id, stale]),
  })
  const ids = await sendOneStale(send)
  assert.deepEqual(
    handled,
    ids.map((id) => [id, id === 'evt_old']),
  )
  assert.deepEqual(dropped, [])
})

test('with dropStale: true, only an older event of the same object is dropped', async () => {
  const { send, handled, dropped } = noted({ dropStale: true })
  const ids = await sendOneStale(send)
  assert.deepEqual(dropped, [['evt_old', 'stale']])
  assert.deepEqual(
    handled,
    ids.filter((id) => id !== 'evt_old'),
  )
})

test('by default every event is handled once, in any order, with any failures', async () => {
  const arrival = fc.record({ id: fc.nat(5), fails: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 20 }), async (arrivals) => {
      const handled: string[] = []
      let fails = false
      const { send } = noted({
        onEvent: ({ id }) => {
          if (fails) throw new Error('mail server down')
          handled.push(id)
        },
      })
      const due = new Set<string>()
      for (const arrived of arrivals) {
        fails = arrived.fails
        const id = `evt_${arrived.id}`
        // All are events of one object; a larger id is a newer event.
        const [status] = await send(event(id, NOW + arrived.id))
        assert.equal(status, fails && !due.has(id) ? 500 : 200)
        if (status === 200) due.add(id)
      }
      assert.deepEqual(handled.toSorted(), [...due].sort())
    }),
    { numRuns: 100 },
  )
})

test('the memory store evicts the oldest id', async () => {
  const store = memoryStore(2)
  await store.add('a', { object: 'x', created: 5 })
  await store.add('b', { object: 'x', created: 3 })
  assert.equal(await store.newest('x'), 5)
  await store.add('c')
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(store.has)), [false, true, true])
})

test('other methods are 405, and a body over the bound is 413, unread', async () => {
  const { handle, handled } = noted({ maxBodyBytes: 64 })
  const get = await handle(new Request('https://example.com/hooks'))
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
  let pulled = 0
  const endless = new ReadableStream({
    pull(controller) {
      pulled++
      controller.enqueue(new Uint8Array(50))
    },
  })
  const init = { method: 'POST', body: endless, duplex: 'half' } as const
  const response = await handle(new Request('https://example.com/hooks', init))
  assert.deepEqual([response.status, await response.json()], [413, { error: 'payload_too_large' }])
  assert.ok(pulled < 10)
  assert.deepEqual(handled, [])
})

test('a body that was read before is 500 body_unreadable', async () => {
  const { handle, errors } = noted()
  const request = await delivery(event('evt_1'))
  await request.text()
  assert.equal((await handle(request)).status, 500)
  assert.ok(errors[0] instanceof TypeError)
})
