/**
 * §11.3: the request limit precedes any other work. A request with status 429 has no effect, and an
 * existing response is not replaced.
 */
import assert from 'node:assert/strict'
import { type Caller, eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { createConsoleLink } from '../../src/identity/people/operators.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { basicOf, bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const actor = { kind: 'test', id: 't' } as never
const WINDOW_S = 60
const LIMIT = 6
const PATH = '/api/v2/protected'
const env = { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_RATE_LIMIT: `${LIMIT}/${WINDOW_S}` }

const advance = ({ app }: TestApp, advance_s: number) =>
  app.clock!.set({ advance_s, freeze: true }, actor)

/** Exhausts the limit of the caller's address. */
async function exhaust(anonymous: Caller, headers?: Record<string, string>): Promise<void> {
  for (let n = 0; n < LIMIT; n++) await anonymous.get('/', headers)
  assert.equal((await anonymous.get('/', headers)).status, 429)
}

const outcome = ({ status, body }: Reply) => `${status} ${body?.error}`

eachService(
  'a refresh over the limit does not rotate the token; a login opens no session',
  async (service) => {
    await advance(service, 0)
    const { createPerson, login, anonymous } = await openPeople(service)
    await createPerson('ada')
    const { refresh_token } = (await login(emailOf('ada'))).body
    await exhaust(anonymous)
    const { app } = service
    const sessions = async () => (await app.db.all(sql`SELECT id FROM gh_sessions`)).length
    const before = await sessions()
    assert.equal(
      outcome(await anonymous.post('/auth/refresh', { refresh_token })),
      '429 rate_limited',
    )
    for (const password of [PASSWORD, 'wrong password']) {
      const refused = await login(emailOf('ada'), password)
      assert.deepEqual(
        [outcome(refused), refused.headers['set-cookie']],
        ['429 rate_limited', undefined],
      )
    }
    assert.equal(await sessions(), before)
    const attempts = await app.db.all(sql`SELECT attempts FROM gh_throttle`)
    assert.ok(
      attempts.every(({ attempts }) => attempts === '[]'),
      'no password attempt counted',
    )
    await advance(service, WINDOW_S + 1)
    assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 200)
  },
  { env },
)

eachService(
  'a request over the limit does not consume a one-time link',
  async (service) => {
    await advance(service, 0)
    const anonymous = service.as(undefined)
    const { path } = await createConsoleLink(service.app.administration, undefined, actor)
    const token = path.split('#token=')[1]!
    await exhaust(anonymous)
    const refused = await anonymous.post('/console/session', { token })
    assert.deepEqual(
      [outcome(refused), refused.headers['set-cookie']],
      ['429 rate_limited', undefined],
    )
    await advance(service, WINDOW_S + 1)
    assert.equal((await anonymous.post('/console/session', { token })).status, 201)
  },
  { env },
)

eachService(
  'an address over its limit blocks unverified requests only',
  async (service) => {
    await advance(service, 0)
    const { createPerson, token, anonymous } = await openPeople(service)
    await createPerson('ada')
    await createPerson('bob')
    const ada = bearerOf(await token(emailOf('ada')))
    assert.equal((await anonymous.get(PATH, basicOf(emailOf('bob')))).status, 200)
    await exhaust(anonymous)
    const failing = [{}, { 'x-api-key': 'gk_test_x' }, bearerOf('x.y.z'), { authorization: 'x' }]
    for (const headers of [...failing, { ...ada, 'x-api-key': 'k' }]) {
      assert.equal(outcome(await anonymous.get(PATH, headers)), '429 rate_limited')
    }
    // A password that must be hashed first is rejected; one verified before is accepted.
    assert.equal((await anonymous.get(PATH, basicOf(emailOf('ada')))).status, 429)
    assert.equal((await anonymous.get(PATH, basicOf(emailOf('bob')))).status, 200)
    assert.equal((await anonymous.get(PATH, ada)).status, 200)
    assert.equal((await service.get(PATH)).status, 200)
    assert.equal((await service.get('/api/v2/nowhere')).status, 404)
    assert.equal((await service.send('PUT', PATH)).status, 405)
    assert.equal((await service.get(`${PATH}?a=%zz`)).status, 400)
    for (const path of ['/api/v2/nowhere', '/nowhere', `${PATH}?a=%zz`, '/oauth/authorize']) {
      assert.equal((await anonymous.get(path)).status, 429, path)
    }
  },
  { env },
)

eachService(
  'a request with a valid password counts for its person, not for the address',
  async (service) => {
    await advance(service, 0)
    const { createPerson, anonymous } = await openPeople(service)
    for (const name of ['a', 'b', 'c']) await createPerson(name)
    for (const name of ['a', 'b', 'c']) {
      const reply = await anonymous.get(PATH, basicOf(emailOf(name)))
      assert.deepEqual(
        [reply.status, reply.headers.ratelimit],
        [200, `"default";r=${LIMIT - 1};t=${WINDOW_S}`],
      )
    }
    assert.equal((await anonymous.get('/')).headers.ratelimit!.split(';')[1], `r=${LIMIT - 1}`)
  },
  { env },
)

eachService(
  'a password that is hashed before the limit of its person rejects it counts for the address',
  async (service) => {
    await advance(service, 0)
    const { createPerson, anonymous } = await openPeople(service)
    await createPerson('ada')
    const ada = basicOf(emailOf('ada'))
    for (let n = 0; n < LIMIT; n++) assert.equal((await anonymous.get(PATH, ada)).status, 200)
    // Another spelling of the name is another pair, so the server hashes its password.
    const other = basicOf(emailOf('Ada'))
    assert.equal(outcome(await anonymous.get(PATH, other)), '429 rate_limited')
    const { headers } = await anonymous.get('/')
    assert.equal(headers.ratelimit!.split(';')[1], `r=${LIMIT - 2}`)
  },
  { env },
)

eachService(
  'a rejected request counts as use of neither key nor version, and names the version',
  async (service) => {
    await advance(service, 0)
    const secret = await service.key()
    const caller = service.as(secret)
    const { app } = service
    for (let n = 0; n < LIMIT; n++) await caller.get('/api/v1/users')
    await app.versioning.flush()
    const used = async () => [
      await app.db.all(sql`SELECT last_used_at FROM gh_api_keys ORDER BY id`),
      (await app.db.all(sql`SELECT count FROM gh_version_usage`)).map(({ count }) => count),
    ]
    const before = await used()
    // The minute for storing the use of a key has passed, the window of the limit has not.
    await advance(service, WINDOW_S + 1)
    const refused = await caller.get('/api/v1/users')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['x-api-version'], 'v1')
    await app.versioning.flush()
    assert.deepEqual(await used(), before)
  },
  { env: { ...env, GATEHOOK_RATE_LIMIT: `${LIMIT}/${2 * WINDOW_S}` } },
)

eachService(
  'the addresses of an IPv6 /64 share a limit',
  async (service) => {
    const anonymous = service.as(undefined)
    const from = (address: string) => ({
      'x-forwarded-for': address,
      'x-forwarded-proto': 'https',
    })
    for (let n = 0; n < LIMIT; n++) {
      assert.equal((await anonymous.get('/', from(`2001:db8:1:2::${n + 1}`))).status, 200)
    }
    assert.equal((await anonymous.get('/', from('2001:db8:1:2:ffff::1'))).status, 429)
    assert.equal((await anonymous.get('/', from('2001:DB8:1:2:0:0:0:9'))).status, 429)
    assert.equal((await anonymous.get('/', from('2001:db8:1:3::1'))).status, 200)
  },
  { env: { ...env, GATEHOOK_TRUST_PROXY: '127.0.0.1' } },
)

eachService(
  'a request over the total of the customer does not count against the credential',
  async (service) => {
    await advance(service, 0)
    const { operator } = await openPeople(service)
    const { id } = (await operator.post('/admin/customers', { name: 'small' })).body
    const limits = { total_rate_limit: { limit: 3, window_s: 2 * WINDOW_S } }
    const patched = await operator.patch(`/admin/customers/${id}`, { limits })
    assert.deepEqual(patched.body.limits, limits)
    const [first, second] = [
      service.as(await service.key({ customer: id, mode: 'live' })),
      service.as(await service.key({ customer: id, mode: 'live' })),
    ]
    assert.deepEqual(
      [await first.get(PATH), await first.get(PATH), await second.get(PATH)].map(
        ({ status }) => status,
      ),
      [200, 200, 200],
    )
    const refused = await second.get(PATH)
    assert.equal(outcome(refused), '429 rate_limited')
    assert.equal(refused.headers['ratelimit-policy'], `"customer";q=3;w=${2 * WINDOW_S}`)
    assert.equal(refused.headers['retry-after'], String(2 * WINDOW_S))
    assert.equal((await service.get(PATH)).status, 200, 'other customers go on')
    // Without the total, the credential still has its unused requests.
    await operator.patch(`/admin/customers/${id}`, { limits: { total_rate_limit: null } })
    await advance(service, 2)
    assert.match((await second.get(PATH)).headers.ratelimit!, new RegExp(`r=${LIMIT - 2};`))
  },
  { env },
)

eachService(
  'the default total of a customer is ten times the limit of a credential',
  async (service) => {
    await advance(service, 0)
    const { operator } = await openPeople(service)
    const { id } = (await operator.post('/admin/customers', { name: 'many keys' })).body
    const keys = await Promise.all(Array.from({ length: 11 }, () => service.key({ customer: id })))
    const statuses: number[] = []
    for (const key of keys) {
      for (let n = 0; n < LIMIT; n++) statuses.push((await service.as(key).get(PATH)).status)
    }
    assert.equal(statuses.filter((status) => status === 200).length, 10 * LIMIT)
    assert.ok(statuses.slice(10 * LIMIT).every((status) => status === 429))
  },
  { env },
)
