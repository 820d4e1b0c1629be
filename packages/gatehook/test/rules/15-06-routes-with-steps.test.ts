/** §15.6: a route with steps calls other systems, and each effect happens once. */
import assert from 'node:assert/strict'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { Failure, sql } from '../../src/gatehook.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { orders, payments, places, probe } from '../fixtures/payments.ts'
import { type Provider, startProvider } from '../fixtures/provider.ts'

const OPTIONS = {
  service: payments,
  env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_TEST_CLOCK: '1' },
}
const createOrder = async (service: TestApp, total = 10): Promise<number> =>
  (await service.post('/api/v1/orders', { total })).body.id

const readOrder = async (service: TestApp, id: number) =>
  (await service.get(`/api/v1/orders/${id}`)).body

/** Returns a function that pays an order, by default with one key. */
const payer =
  (service: Pick<TestApp, 'post'>, { url }: Provider, id: number) =>
  (key = 'a', amount = 7) =>
    service.post(`/api/v1/orders/${id}/pay`, { amount, url }, { 'idempotency-key': key })

const operator = async (service: TestApp) =>
  service.as(await service.key({ scopes: ['admin'], mode: 'live' }))

/** Throws at a place once, after an optional action. */
function failOnce(place: string): void {
  places.set(place, () => {
    places.delete(place)
    throw new Error(`fault ${place}`)
  })
}

/** Runs the code of a test as a route with steps. */
async function run(service: TestApp, key: string, code: typeof probe.run, path = 'probe') {
  probe.run = code
  return service.patch(`/api/v1/${path}`, {}, { 'idempotency-key': key })
}

eachService(
  'a request runs its steps once, and repeats get the stored response',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const first = await payer(service, provider, id)()
    assert.equal(first.status, 200, first.text)
    assert.deepEqual([first.body.paid, first.body.reserved], [7, 7])
    const again = await payer(service, provider, id)('"a"')
    assert.deepEqual([again.status, again.body], [200, first.body])
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.equal(first.headers['idempotent-replayed'], undefined)
    const other = await payer(service, provider, id)('a', 1)
    assert.deepEqual([other.status, other.body.error], [422, 'idempotency_key_reused'])
    assert.equal(provider.keys.length, 1)
  },
  OPTIONS,
)

eachService(
  'requests without a key, dry runs and invalid bodies run no step',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const path = `/api/v1/orders/${id}/pay`
    const body = { amount: 7, url: provider.url }
    const key = { 'idempotency-key': 'a' }
    const replies = [
      await service.post(path, body),
      await service.post(path, body, { ...key, prefer: 'dry-run' }),
      await service.post(path, { ...body, amount: 0 }, key),
      await service.post(path, body, { 'idempotency-key': 'ä' }),
    ]
    assert.deepEqual(
      replies.map(({ status, body: { error } }) => [status, error]),
      [
        [400, 'idempotency_key_required'],
        [400, 'invalid_request'],
        [422, 'validation_failed'],
        [400, 'invalid_idempotency_key'],
      ],
    )
    assert.equal(provider.keys.length, 0)
    assert.equal((await service.post(path, body, key)).status, 200)
  },
  OPTIONS,
)

eachService(
  'a failure below 500 is a result: it is thrown again, and its transaction is rolled back',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const pay = payer(service, provider, id)
    provider.result = 'declined'
    const declined = await pay()
    assert.deepEqual(
      [declined.status, declined.body.error, declined.body.details],
      [402, 'payment_declined', { reason: 'no money' }],
    )
    const again = await pay()
    assert.deepEqual([again.status, again.body.details], [402, { reason: 'no money' }])
    assert.equal(again.headers['idempotent-replayed'], 'true')
    const tooMuch = await pay('b', 5)
    assert.deepEqual([tooMuch.status, tooMuch.body.error], [409, 'conflict'])
    assert.equal((await pay('b', 5)).status, 409)
    assert.equal((await readOrder(service, id)).reserved, 7)
    assert.equal(provider.keys.length, 1)
    const caught = await run(service, 'c', async ({ step }) => {
      const code = () => Promise.reject(new Failure('conflict', 'Taken.'))
      return step('take', code).catch((error: Error) => ({ message: error.message }))
    })
    assert.deepEqual([caught.status, caught.body], [200, { message: 'Taken.' }])
  },
  OPTIONS,
)

eachService(
  'an exception ends the attempt at each place, a repeat begins the next one at once, and the ' +
    'provider is charged once',
  async (service, t) => {
    const provider = await startProvider(t)
    for (const [place, requests] of [
      ['begin', 1],
      ['before charge', 1],
      ['in charge', 2],
      ['after charge', 1],
      ['end', 1],
    ] as const) {
      provider.keys.length = 0
      provider.charges.clear()
      const id = await createOrder(service)
      const pay = payer(service, provider, id)
      failOnce(place)
      const first = await pay()
      assert.deepEqual([first.status, first.body.error], [503, 'request_incomplete'], place)
      assert.match(first.headers['retry-after']!, /^\d+$/)
      const second = await pay()
      assert.deepEqual([second.status, second.body.paid, second.body.reserved], [200, 7, 7], place)
      assert.deepEqual([provider.keys.length, provider.charges.size], [requests, 1], place)
      assert.equal(new Set(provider.keys).size, 1)
    }
    provider.status = 500
    const id = await createOrder(service)
    const pay = payer(service, provider, id)
    assert.equal((await pay()).status, 503)
    provider.status = 200
    assert.equal((await pay()).status, 200)
  },
  OPTIONS,
)

eachService(
  'the engine finishes what a caller abandons, at the time of the first attempt',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const admin = await operator(service)
    failOnce('after charge')
    const { now } = (await admin.get('/admin/clock')).body
    const pay = payer(service, provider, id)
    assert.equal((await pay()).status, 503)
    await admin.post('/admin/clock', { advance_s: 3_600 })
    await service.app.work()
    const path = '/admin/jobs?kind=request'
    const isDone = ({ body }: { body: { data: { state: string }[] } }) =>
      body.data[0]?.state === 'done'
    const { body } = await eventually(() => admin.get(path), isDone)
    const [job] = body.data
    assert.deepEqual([job.name, job.attempt], ['POST /orders/:id/pay', 2])
    const { paid, paid_at: paidAt } = await readOrder(service, id)
    assert.equal(paid, 7)
    // An hour before the attempt that ended it.
    assert.ok(Date.parse(paidAt) - Date.parse(now) < 1_800_000, `${now} ${paidAt}`)
    assert.equal(provider.keys.length, 1)
    const repeat = await pay()
    assert.deepEqual([repeat.status, repeat.headers['idempotent-replayed']], [200, 'true'])
    assert.deepEqual((await admin.get(`/admin/jobs/${job.id}`)).body.input, {})
    const canceled = await admin.post(`/admin/jobs/${job.id}/cancel`)
    assert.equal(canceled.body.error, 'invalid_state')
  },
  OPTIONS,
)

eachService(
  'a repeat waits for the attempt that runs, and no writer waits for a step',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const pay = payer(service, provider, id)
    const arrived = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    provider.onRequest = () => {
      arrived.resolve()
      return answered.promise
    }
    const replies = [pay()]
    await arrived.promise
    replies.push(pay())
    assert.equal((await service.patch(`/api/v1/orders/${id}`, { total: 11 })).status, 200)
    answered.resolve()
    const [first, second] = await Promise.all(replies)
    assert.deepEqual([first!.status, second!.status, second!.body], [200, 200, first!.body])
    assert.equal(second!.headers['idempotent-replayed'], 'true')
    assert.equal(provider.keys.length, 1)
  },
  OPTIONS,
)

eachService(
  'callers and requests share no key of a step',
  async (service, t) => {
    const provider = await startProvider(t)
    const other = service.as(await service.key({ scopes: ['r', 'w'], mode: 'test' }))
    const id = await createOrder(service, 100)
    const second = await createOrder(service, 100)
    for (const caller of [service, other]) {
      for (const order of [id, second]) {
        for (const key of ['a', 'b']) {
          assert.equal((await payer(caller, provider, order)(key, 1)).status, 200)
        }
      }
    }
    assert.equal(new Set(provider.keys).size, 8)
    assert.ok(provider.keys.every((key) => /^[\w-]{43}$/.test(key)))
  },
  OPTIONS,
)

eachService(
  'mistakes of own code end the attempt, also if it catches them',
  async (service) => {
    const admin = await operator(service)
    const errors: readonly [RegExp, typeof probe.run][] = [
      [/another step contains it/, ({ step, read }) => step('a', () => read('b', () => 1))],
      [
        /two of this name/,
        async ({ step }) => [await step('a', () => 1), await step('a', () => 1)],
      ],
      [/names have 1 to 200/, ({ step }) => step('.response', () => 1)],
      [/names have 1 to 200/, ({ step }) => step('x'.repeat(201), () => 1)],
      [/has 70\d+ bytes/, ({ step }) => step('a', () => 'x'.repeat(70_000))],
      [/is no JSON at \/at/, ({ step }) => step('a', () => ({ at: new Date(0) }))],
      [/is no JSON at \/0/, ({ step }) => step('a', () => [Number.NaN])],
      [/BigInt/, ({ step }) => step('a', () => 1n)],
      [/is no JSON/, ({ step }) => step('a', () => () => 1)],
      [
        /overloaded|The server is/,
        ({ step }) => step('a', () => Promise.reject(new Failure('overloaded'))),
      ],
      [
        /exceeded its timeout/,
        ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('ended'))),
          ),
      ],
      [/exceeded its timeout/, () => new Promise(() => {})],
    ]
    for (const [index, [pattern, code]] of errors.entries()) {
      const caught: typeof probe.run = async (words) => {
        try {
          return await code(words)
        } catch {
          return { caught: true }
        }
      }
      for (const [kind, variant] of Object.entries({ plain: code, caught })) {
        if (kind === 'caught' && /timeout/.test(String(pattern))) continue
        const path = /timeout/.test(String(pattern)) ? 'probe/brief' : 'probe'
        const reply = await run(service, `${kind}${index}`, variant, path)
        assert.deepEqual([reply.status, reply.body.error], [503, 'request_incomplete'], reply.text)
        const [job] = (await admin.get('/admin/jobs?sort=-id&limit=1')).body.data
        assert.match(job.error, pattern)
      }
    }
  },
  OPTIONS,
)

eachService(
  'results are JSON, undefined, or rows of their resource, in later attempts as in the first',
  async (service) => {
    const id = await createOrder(service)
    const seen: unknown[] = []
    const code: typeof probe.run = async ({ step, read }) => {
      const nothing = await step('nothing', () => undefined)
      const many = await step('many', () => ({ a: [1, 'two', null, { b: true }], c: undefined }))
      const rows = await read('rows', async (r) => [{ row: await r.get(orders, id) }])
      seen.push([nothing, many, rows])
      if (seen.length === 1) throw new Error('once')
      return rows
    }
    assert.equal((await run(service, 'a', code)).status, 503)
    const { status, body } = await run(service, 'a', code)
    assert.equal(status, 200)
    assert.deepEqual(seen[0], seen[1])
    assert.deepEqual((seen[0] as unknown[])[0], undefined)
    assert.deepEqual((seen[0] as unknown[])[1], { a: [1, 'two', null, { b: true }] })
    // As the caller reads it: instants are texts.
    assert.deepEqual(body, [{ row: await readOrder(service, id) }])
  },
  OPTIONS,
)

eachService(
  'a step that began more than 24 hours ago does not run again, unless an operator says so',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service)
    const admin = await operator(service)
    const pay = payer(service, provider, id)
    failOnce('in charge')
    assert.equal((await pay()).status, 503)
    await admin.post('/admin/clock', { advance_s: 25 * 3_600 })
    for (let time = 0; time < 2; time++) {
      const reply = await pay()
      assert.deepEqual([reply.status, reply.body.error], [409, 'step_outcome_unknown'])
    }
    const [job] = (await admin.get('/admin/jobs?kind=request')).body.data
    assert.equal(job.state, 'failed')
    await admin.post(`/admin/jobs/${job.id}/retry`)
    assert.equal((await pay()).body.error, 'step_outcome_unknown')
    assert.equal(provider.keys.length, 1)
    const retried = await admin.post(`/admin/jobs/${job.id}/retry`, { repeat_steps: true })
    assert.equal(retried.status, 200, retried.text)
    assert.deepEqual([(await pay()).status, new Set(provider.keys).size], [200, 1])
    assert.equal(provider.charges.size, 1)
  },
  OPTIONS,
)

eachService(
  'results are encrypted, and stay for 24 hours after the last attempt',
  async (service, t) => {
    const provider = await startProvider(t)
    const id = await createOrder(service, 100)
    const admin = await operator(service)
    const pay = payer(service, provider, id)
    assert.equal((await pay()).status, 200)
    const db = await openDatabase(service.url, { log: quietLog, checksReferences: false })
    onEnd(t, () => db.close())
    const rows = await db.all(sql`SELECT name, result FROM gh_steps`)
    assert.deepEqual(
      rows.map(({ name }) => name).sort(),
      ['.attempt', '.response', 'book', 'charge', 'order', `reserve ${id}`].sort(),
    )
    for (const { result } of rows) {
      assert.doesNotMatch(Buffer.from(result).toString('latin1'), /amount|succeeded|paid/)
    }
    await admin.post('/admin/clock', { advance_s: 23 * 3_600 })
    assert.equal((await pay()).headers['idempotent-replayed'], 'true')
    await admin.post('/admin/clock', { advance_s: 2 * 3_600 })
    const later = await pay()
    assert.deepEqual([later.status, later.body.paid], [200, 14])
    assert.equal(later.headers['idempotent-replayed'], undefined)
    // It is another request: the provider has charged for it, too.
    assert.deepEqual([provider.keys.length, provider.charges.size], [2, 2])
  },
  OPTIONS,
)
