/**
 * §3.8: ten failed attempts an account, a hundred an address, in a sliding five minutes; Basic and
 * login count together; nobody is told which names exist.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { basicOf, mailOf, PASSWORD, signing } from '../people/rig.ts'

const PATH = '/api/v2/protected'
const env = { GATEHOOK_TEST_CLOCK: '1' }

const advance = async (service: TestApp, seconds: number): Promise<void> => {
  const { operator } = await signing(service)
  const moved = await operator.post('/admin/clock', { advance_s: seconds })
  assert.equal(moved.status, 200, moved.text)
}

eachService(
  'Basic and login count together; then 429, for the right password too, until it is over',
  async (service) => {
    const { make, anybody, login } = await signing(service)
    await make('ada')
    const name = mailOf('ada')
    for (let n = 0; n < 5; n++) {
      assert.equal((await login(name, `wrong ${n}`)).status, 401)
      assert.equal((await anybody.get(PATH, basicOf(name.toUpperCase(), 'wrong'))).status, 401)
    }
    for (const refused of [await login(name), await anybody.get(PATH, basicOf(name))]) {
      assert.deepEqual([refused.status, refused.body.error], [429, 'rate_limited'])
      const seconds = Number(refused.headers['retry-after'])
      assert.ok(seconds > 290 && seconds <= 300, `Retry-After: ${seconds}`)
    }
    await make('bob')
    assert.equal((await login(mailOf('bob'))).status, 200, 'others go on')
    await advance(service, 301)
    assert.equal((await login(name)).status, 200)
  },
  { env },
)

eachService('success clears the account’s count', async (service) => {
  const { make, login } = await signing(service)
  await make('ada')
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 9; n++) assert.equal((await login(mailOf('ada'), 'wrong')).status, 401)
    assert.equal((await login(mailOf('ada'))).status, 200)
  }
})

eachService('twenty good logins at once are no attack', async (service) => {
  const { make, login } = await signing(service)
  await make('ada')
  const replies = await Promise.all(Array.from({ length: 20 }, () => login(mailOf('ada'))))
  assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [200])
})

eachService('thirty wrong ones at once are: ten are judged, equal ones too', async (service) => {
  const { make, login } = await signing(service)
  await make('ada')
  for (const wrong of [(n: number) => `wrong ${n}`, () => 'the same wrong one']) {
    const name = await make(`p${wrong.length}`)
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) => login(name.email, wrong(n))),
    )
    const statuses = replies.map((reply) => reply.status)
    assert.equal(statuses.filter((status) => status === 401).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 20)
  }
})

// On one database: the count is kept as an account's is, and each attempt costs a hash.
test('an address has a hundred attempts, whoever it tries to be', async (t) => {
  const service = await openService(t, 'sqlite')
  const { make, login, anybody } = await signing(service)
  await make('ada')
  for (let n = 0; n < 100; n++) assert.equal((await login(`nobody ${n}`, 'x')).status, 401)
  const refused = await login('nobody else', 'x')
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.equal((await anybody.get(PATH, basicOf(mailOf('ada')))).status, 429)
})

eachService('an unknown name is throttled as a known one, and answered alike', async (service) => {
  const { make, login } = await signing(service)
  await make('ada')
  const seen = new Map<string, string[]>()
  for (const name of [mailOf('ada'), mailOf('nobody')]) {
    const answers: string[] = []
    for (let n = 0; n < 11; n++) {
      const { status, body, headers } = await login(name, 'wrong')
      const { 'x-request-id': _, date: __, ratelimit: ___, 'retry-after': ____, ...rest } = headers
      answers.push(JSON.stringify([status, { ...body, request_id: '' }, rest]))
    }
    seen.set(name, answers)
  }
  const [known, unknown] = [...seen.values()]
  assert.deepEqual(known, unknown)
})

test('an unknown name takes as long as a wrong password', async (t) => {
  const service = await openService(t, 'sqlite')
  const { make, login } = await signing(service)
  const lasts = async (name: string) => {
    const startMs = performance.now()
    await login(name, 'wrong')
    return performance.now() - startMs
  }
  await make('ada')
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  for (let n = 0; n < 9; n++) {
    times.known.push(await lasts(mailOf('ada')))
    times.unknown.push(await lasts(mailOf('nobody')))
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[4]!
  const ratio = median(times.unknown) / median(times.known)
  assert.ok(ratio > 0.5 && ratio < 2, `unknown / known: ${ratio}`)
})

eachService(
  'it is in the audit trail once, and told to the customer’s receivers',
  async (service) => {
    const { make, login, operator } = await signing(service)
    const ada = await make('ada')
    for (let n = 0; n < 13; n++) await login(mailOf('ada'), 'wrong')
    for (let n = 0; n < 13; n++) await login('nobody', PASSWORD)
    const { body } = await operator.get('/admin/audit?action=login.throttled')
    const targets = body.data.map((act: { target: string }) => act.target)
    assert.deepEqual(targets.toSorted(), [String(ada.id), 'unknown'].toSorted())
    assert.ok(!JSON.stringify(body).includes('nobody'), 'what nobody is called is not written down')
    const { body: events } = await service.get('/events?type=login.throttled')
    assert.equal(events.data.length, 1)
    const { object } = events.data[0].data
    assert.deepEqual([object.id, object.username, object.by], [ada.id, mailOf('ada'), 'account'])
  },
)
