/**
 * §3.8: ten failed attempts per account, a hundred per address, in a sliding window of five
 * minutes. Basic and login share the counters. Responses do not reveal which names exist.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const PATH = '/api/v2/protected'
const env = { GATEHOOK_TEST_CLOCK: '1' }
/** The member of the event that names the limit. */
const LIMIT = 'by'

const advance = async (service: TestApp, seconds: number): Promise<void> => {
  const { operator } = await openPeople(service)
  const reply = await operator.post('/admin/clock', { advance_s: seconds })
  assert.equal(reply.status, 200, reply.text)
}

eachService(
  'Basic and login share a counter; at the limit the correct password is 429, too',
  async (service) => {
    const { createPerson, anonymous, login } = await openPeople(service)
    await createPerson('ada')
    const name = emailOf('ada')
    for (let n = 0; n < 5; n++) {
      assert.equal((await login(name, `wrong ${n}`)).status, 401)
      assert.equal((await anonymous.get(PATH, basicOf(name.toUpperCase(), 'wrong'))).status, 401)
    }
    for (const limited of [await login(name), await anonymous.get(PATH, basicOf(name))]) {
      assert.deepEqual([limited.status, limited.body.error], [429, 'rate_limited'])
      const seconds = Number(limited.headers['retry-after'])
      assert.ok(seconds > 200 && seconds <= 300, `Retry-After: ${seconds}`)
    }
    await createPerson('bob')
    assert.equal((await login(emailOf('bob'))).status, 200, 'other accounts are not limited')
    await advance(service, 301)
    assert.equal((await login(name)).status, 200)
  },
  { env },
)

eachService('a success clears the account’s counter', async (service) => {
  const { createPerson, login } = await openPeople(service)
  await createPerson('ada')
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 9; n++) assert.equal((await login(emailOf('ada'), 'wrong')).status, 401)
    assert.equal((await login(emailOf('ada'))).status, 200)
  }
})

eachService('twenty concurrent correct logins are not limited', async (service) => {
  const { createPerson, login } = await openPeople(service)
  await createPerson('ada')
  const replies = await Promise.all(Array.from({ length: 20 }, () => login(emailOf('ada'))))
  assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [200])
})

eachService(
  'of thirty concurrent wrong logins, equal or not, ten are verified',
  async (service) => {
    const { createPerson, login } = await openPeople(service)
    await createPerson('ada')
    for (const passwordOf of [(n: number) => `wrong ${n}`, () => 'the same wrong password']) {
      const person = await createPerson(`p${passwordOf.length}`)
      const replies = await Promise.all(
        Array.from({ length: 30 }, (_, n) => login(person.email, passwordOf(n))),
      )
      const statuses = replies.map((reply) => reply.status)
      assert.equal(statuses.filter((status) => status === 401).length, 10)
      assert.equal(statuses.filter((status) => status === 429).length, 20)
    }
  },
)

// On one database: each attempt costs a hash, and the counter is stored like an account's.
test('an address has a hundred attempts, over all names', async (t) => {
  const service = await openService(t, 'sqlite')
  const { createPerson, login, anonymous } = await openPeople(service)
  await createPerson('ada')
  for (let n = 0; n < 100; n++) assert.equal((await login(`unknown ${n}`, 'x')).status, 401)
  const limited = await login('unknown', 'x')
  assert.equal(limited.status, 429)
  assert.ok(Number(limited.headers['retry-after']) > 0)
  assert.equal((await anonymous.get(PATH, basicOf(emailOf('ada')))).status, 429)
})

eachService(
  'an unknown name has the same limits and responses as an existing one',
  async (service) => {
    const { createPerson, login } = await openPeople(service)
    await createPerson('ada')
    const repliesOf = new Map<string, string[]>()
    for (const name of [emailOf('ada'), emailOf('unknown')]) {
      const replies: string[] = []
      for (let n = 0; n < 11; n++) {
        const { status, body, headers } = await login(name, 'wrong')
        const {
          'x-request-id': _,
          date: __,
          ratelimit: ___,
          'retry-after': ____,
          ...rest
        } = headers
        replies.push(JSON.stringify([status, { ...body, request_id: '' }, rest]))
      }
      repliesOf.set(name, replies)
    }
    const [existing, unknown] = [...repliesOf.values()]
    assert.deepEqual(existing, unknown)
  },
)

test('an unknown name takes as many hashes as a wrong password', async (t) => {
  const service = await openService(t, 'sqlite')
  const { createPerson, login } = await openPeople(service)
  await createPerson('ada')
  const hash = t.mock.method(Worker.prototype, 'postMessage')
  const hashesOf = async (name: string) => {
    hash.mock.resetCalls()
    assert.equal((await login(name, 'wrong')).status, 401)
    return hash.mock.calls.map(({ arguments: [{ nonce, message, ...work }] }) => [
      nonce.length,
      message,
      work,
    ])
  }
  const existing = await hashesOf(emailOf('ada'))
  assert.equal(existing.length, 1)
  assert.deepEqual(await hashesOf(emailOf('unknown')), existing)
})

eachService('a reached limit is one audit row, and one event of the customer', async (service) => {
  const { createPerson, login, operator } = await openPeople(service)
  const ada = await createPerson('ada')
  for (let n = 0; n < 13; n++) await login(emailOf('ada'), 'wrong')
  for (let n = 0; n < 13; n++) await login('unknown-name', PASSWORD)
  const { body } = await operator.get('/admin/audit?action=login.throttled')
  for (const { request_id } of body.data) assert.match(request_id, /^req_/)
  const targets = body.data.map(({ target }: { target: string }) => target)
  assert.deepEqual(targets.toSorted(), [String(ada.id), 'unknown'].toSorted())
  assert.ok(!JSON.stringify(body).includes('unknown-name'), 'unknown names are not stored')
  const { body: events } = await service.get('/events?type=login.throttled')
  assert.equal(events.data.length, 1)
  const { object } = events.data[0].data
  assert.deepEqual([object.id, object.username, object[LIMIT]], [ada.id, emailOf('ada'), 'account'])
})
