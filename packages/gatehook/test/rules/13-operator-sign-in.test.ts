/**
 * §13: operators sign in with a password and a code of a second factor, which is accepted once.
 * Operators list and end sessions. A session ends after 30 minutes without use.
 */
import assert from 'node:assert/strict'
import { Secret, TOTP } from 'otpauth'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import {
  createConsoleLink,
  createOperator,
  setOperatorDisabled,
} from '../../src/identity/people/operators.ts'
import { resetSecondFactor } from '../../src/identity/people/second-factor.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { openPeople, PASSWORD } from '../people/rig.ts'

const actor = { kind: 'system', id: 'test' } as const
const EMAIL = 'op@example.com'
const HOUR_S = 3600
const consoleHeaders = { 'x-gatehook-console': '1' }
const options = { env: { GATEHOOK_TEST_CLOCK: '1' } }
/** Only `advance` moves the time, so that no step of 30 s ends between a code and its use. */
const clock = { now: () => Date.UTC(2026, 0, 1), elapsedMs: wallClock.elapsedMs }
const stopped = { ...options, clock }

const cookieOf = ({ headers }: Reply): string =>
  String([headers['set-cookie']].flat()[0]).split(';')[0]!

async function openConsole(service: TestApp) {
  const { administration, hasher } = service.app
  const { operator: admin, anonymous } = await openPeople(service)
  const input = { email: EMAIL, password: PASSWORD }
  const { id } = await createOperator(administration, hasher, input, actor)
  const advance = async (advance_s: number) => {
    const reply = await admin.post('/admin/clock', { advance_s })
    assert.equal(reply.status, 200, reply.text)
  }
  const signIn = (code?: string, password = PASSWORD) =>
    anonymous.post('/console/session', { email: EMAIL, password, ...(code && { code }) })
  const signInByLink = async () => {
    const { path } = await createConsoleLink(administration, EMAIL, actor)
    const reply = await anonymous.post('/console/session', { token: path.split('#token=')[1] })
    assert.equal(reply.status, 201, reply.text)
    return cookieOf(reply)
  }
  const as = (cookie: string) => ({ cookie, ...consoleHeaders })
  const codeOf = (secret: string, offsetS = 0) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({
      timestamp: administration.clock.now() + offsetS * 1000,
    })
  const path = '/console/session/second-factor'
  /** Enrols in the session; returns the secret, the recovery codes and the new cookie. */
  const enrol = async (cookie: string) => {
    const enrolment = await anonymous.post(path, undefined, as(cookie))
    assert.equal(enrolment.status, 200, enrolment.text)
    const { secret, uri } = enrolment.body
    const confirmed = await anonymous.put(path, { code: codeOf(secret) }, as(cookie))
    assert.equal(confirmed.status, 200, confirmed.text)
    assert.equal(confirmed.headers['cache-control'], 'no-store')
    return { secret, uri, codes: confirmed.body.recovery_codes, cookie: cookieOf(confirmed) }
  }
  const listActions = async () => {
    const { body } = await admin.get('/admin/audit?sort=id&limit=100')
    return body.data.map(({ action }: { action: string }) => action) as string[]
  }
  return {
    id,
    admin,
    anonymous,
    advance,
    signIn,
    signInByLink,
    as,
    codeOf,
    enrol,
    listActions,
    path,
  }
}

const outcome = ({ status, body }: Reply) => `${status} ${body?.error ?? ''}`.trim()

eachService(
  'without a second factor, a password opens a session that can only enrol one',
  async (service) => {
    const { signIn, anonymous, as, enrol, id, listActions } = await openConsole(service)
    const first = await signIn()
    assert.deepEqual([first.status, first.body.second_factor], [201, 'enrolment_required'])
    const cookie = cookieOf(first)
    for (const path of ['/admin/audit', '/admin/keys', '/admin/operator-sessions']) {
      assert.equal(outcome(await anonymous.get(path, as(cookie))), '403 second_factor_required')
    }
    const rejected = await anonymous.post('/admin/customers', { name: 'x' }, as(cookie))
    assert.equal(outcome(rejected), '403 second_factor_required')
    const enrolled = await enrol(cookie)
    assert.match(enrolled.uri, /^otpauth:\/\/totp\/.*op%40example\.com\?.*secret=[A-Z2-7]{32}/)
    assert.equal(enrolled.codes.length, 10)
    assert.notEqual(enrolled.cookie, cookie, 'the session has a new id')
    assert.equal((await anonymous.get('/admin/audit', as(cookie))).status, 401)
    const session = await anonymous.get('/console/session', as(enrolled.cookie))
    assert.deepEqual([session.body.operator, session.body.second_factor], [id, 'verified'])
    assert.equal((await anonymous.get('/admin/audit', as(enrolled.cookie))).status, 200)
    const sessions = (await anonymous.get('/admin/operator-sessions', as(enrolled.cookie))).body
    assert.equal(sessions.data[0].second_factor, true)
    const all = await listActions()
    assert.ok(all.includes('operator.second_factor_enrol'))
    assert.ok(all.includes('operator.second_factor_confirm'))
  },
  options,
)

eachService(
  'with a second factor, a code within one step is required, and accepted once',
  async (service) => {
    const { signIn, signInByLink, enrol, codeOf, advance, anonymous, as } =
      await openConsole(service)
    const { secret } = await enrol(await signInByLink())
    assert.equal(outcome(await signIn()), '403 second_factor_required')
    assert.equal(
      outcome(await signIn(codeOf(secret))),
      '401 invalid_credentials',
      'used for the enrolment',
    )
    await advance(60)
    const code = codeOf(secret)
    assert.equal(outcome(await signIn(code, 'wrong')), '401 invalid_credentials')
    const results = await Promise.all([signIn(code), signIn(code)])
    assert.deepEqual(results.map(({ status }) => status).sort(), [201, 401], 'concurrent')
    assert.equal(
      (await signIn(codeOf(secret, -30))).status,
      401,
      'older than the last accepted code',
    )
    assert.equal((await signIn(codeOf(secret, 30))).status, 201, 'one step ahead')
    await advance(120)
    assert.equal((await signIn(codeOf(secret, 60))).status, 401, 'two steps ahead')
    const session = await signIn(codeOf(secret))
    assert.equal(session.body.second_factor, 'verified')
    assert.equal((await anonymous.get('/admin/audit', as(cookieOf(session)))).status, 200)
  },
  stopped,
)

eachService(
  'wrong codes count as failed passwords; a missing one does not',
  async (service) => {
    const { signIn, signInByLink, enrol, codeOf, advance } = await openConsole(service)
    const { secret } = await enrol(await signInByLink())
    await advance(60)
    for (let n = 0; n < 12; n++) {
      assert.equal(outcome(await signIn()), '403 second_factor_required')
    }
    for (let n = 0; n < 10; n++) assert.equal((await signIn('not it')).status, 401)
    const locked = await signIn(codeOf(secret))
    assert.equal(outcome(locked), '429 rate_limited')
    assert.ok(Number(locked.headers['retry-after']) > 200)
  },
  options,
)

eachService(
  'a recovery code is accepted once; secrets are stored encrypted or hashed',
  async (service) => {
    const { signIn, signInByLink, enrol, listActions } = await openConsole(service)
    const { secret, codes } = await enrol(await signInByLink())
    assert.equal((await signIn(codes[0])).status, 201)
    assert.equal((await signIn(codes[0])).status, 401)
    assert.equal((await signIn(codes[1].toUpperCase().replaceAll('-', ' '))).status, 201)
    assert.equal(
      (await listActions()).filter((action) => action === 'operator.recovery_code').length,
      2,
    )
    for (const table of ['gh_operators', 'gh_operator_recovery_codes']) {
      const all = `SELECT * FROM ${table}`
      const rows = await service.app.db.all({ sql: all, text: all, values: [] })
      const bytes = rows
        .flatMap((row) => Object.values(row))
        .map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
        )
      for (const text of [
        secret,
        ...codes,
        ...codes.map((code: string) => code.replaceAll('-', '')),
      ])
        assert.ok(!bytes.join().includes(text), table)
    }
  },
  options,
)

eachService(
  'a session without the second factor cannot replace it; a wrong first code discards it',
  async (service) => {
    const { signIn, signInByLink, enrol, anonymous, as, path, codeOf } = await openConsole(service)
    const weak = cookieOf(await signIn())
    const enrolment = await anonymous.post(path, undefined, as(weak))
    const code = codeOf(enrolment.body.secret)
    const wrong = code === '000000' ? '000001' : '000000'
    assert.equal((await anonymous.put(path, { code: wrong }, as(weak))).status, 401)
    assert.equal(outcome(await anonymous.put(path, { code }, as(weak))), '409 invalid_state')
    const link = await signInByLink()
    const late = cookieOf(await signIn())
    await enrol(link)
    for (const cookie of [weak, late]) {
      assert.equal((await anonymous.post(path, undefined, as(cookie))).status, 401, 'has ended')
    }
  },
  options,
)

eachService(
  'a session ends after 30 minutes without use, and after 12 hours in any case',
  async (service) => {
    const { signInByLink, anonymous, as, advance } = await openConsole(service)
    const idle = await signInByLink()
    const busy = await signInByLink()
    const status = async (cookie: string) => (await anonymous.get('/admin/keys', as(cookie))).status
    for (let minutes = 0; minutes < 40; minutes += 20) {
      await advance(20 * 60)
      assert.equal(await status(busy), 200)
    }
    assert.equal(await status(idle), 401)
    for (let minutes = 40; minutes < 700; minutes += 20) {
      await advance(20 * 60)
      assert.equal(await status(busy), 200, `${minutes} minutes`)
    }
    await advance(HOUR_S / 2 - 60)
    assert.equal(await status(busy), 401)
  },
  options,
)

eachService(
  'sessions are listed and ended; sign-out ends one session, disabling all',
  async (service) => {
    const { signInByLink, anonymous, as, admin, id, listActions } = await openConsole(service)
    const first = await signInByLink()
    const list = async () => (await anonymous.get('/admin/operator-sessions', as(first))).body
    const [own] = (await list()).data
    const second = await signInByLink()
    const body = await list()
    assert.equal(body.data.length, 2)
    for (const row of body.data) {
      assert.match(row.id, /^ses_/)
      assert.equal(row.operator, id)
      assert.deepEqual([typeof row.address, row.verified], ['string', true])
      assert.deepEqual([row.email, row.second_factor], [EMAIL, false])
      for (const time of [row.created_at, row.last_used_at, row.expires_at]) {
        assert.match(time, /^\d{4}-.*Z$/)
      }
    }
    assert.ok(!JSON.stringify(body).includes('hash'))
    const { id: other } = body.data.find((row: { id: string }) => row.id !== own.id)
    const end = () => admin.delete(`/admin/operator-sessions/${other}`)
    assert.equal((await end()).status, 204)
    assert.equal((await end()).status, 404)
    assert.equal((await anonymous.get('/admin/keys', as(second))).status, 401)
    assert.equal((await anonymous.get('/admin/keys', as(first))).status, 200)
    const signOut = await anonymous.delete('/console/session', as(first))
    assert.equal(signOut.status, 204)
    assert.match(String(signOut.headers['set-cookie']), /Max-Age=0/)
    assert.equal(signOut.headers['clear-site-data'], '"cache", "storage"')
    assert.equal((await anonymous.get('/admin/keys', as(first))).status, 401)
    const third = await signInByLink()
    await setOperatorDisabled(service.app.administration, EMAIL, true, actor)
    assert.equal((await anonymous.get('/admin/keys', as(third))).status, 401)
    const all = await listActions()
    for (const action of ['operator.sign_in', 'operator.sign_out', 'operator.session_end']) {
      assert.ok(all.includes(action), action)
    }
  },
  options,
)

eachService(
  'a sign-in ends the previous session of the browser',
  async (service) => {
    const { signInByLink, anonymous, as, admin } = await openConsole(service)
    const before = await signInByLink()
    const { path } = await createConsoleLink(service.app.administration, EMAIL, actor)
    const token = path.split('#token=')[1]
    const wrong = await anonymous.post('/console/session', { token: 'wrong' }, as(before))
    assert.equal(wrong.status, 401)
    assert.equal(
      (await anonymous.get('/admin/keys', as(before))).status,
      200,
      'a failed sign-in ends none',
    )
    const after = cookieOf(await anonymous.post('/console/session', { token }, as(before)))
    assert.equal((await anonymous.get('/admin/keys', as(before))).status, 401)
    const { body } = await anonymous.get('/admin/operator-sessions', as(after))
    assert.equal(body.data.length, 1)
    const { body: trail } = await admin.get('/admin/audit?action=operator.sign_in&sort=-id')
    assert.match(trail.data[0].detail.ended, /^ses_/)
    assert.equal(trail.data[1].detail.ended, undefined)
  },
  options,
)

eachService(
  'after a reset by the command line, an operator enrols a new second factor',
  async (service) => {
    const { signIn, signInByLink, enrol, anonymous, as } = await openConsole(service)
    const { cookie } = await enrol(await signInByLink())
    const { administration } = service.app
    const { path } = await createConsoleLink(administration, EMAIL, actor)
    await resetSecondFactor(administration, EMAIL, actor)
    const link = { token: path.split('#token=')[1] }
    assert.equal((await anonymous.post('/console/session', link)).status, 401)
    assert.equal((await anonymous.get('/admin/keys', as(cookie))).status, 401)
    assert.equal((await signIn()).body.second_factor, 'enrolment_required')
  },
  options,
)

eachService(
  'the session of a link creates the first operator, and becomes its session',
  async (service) => {
    const { anonymous, as } = await openConsole(service)
    const link = await createConsoleLink(service.app.administration, undefined, actor)
    const opened = await anonymous.post('/console/session', {
      token: link.path.split('#token=')[1],
    })
    assert.equal(opened.body.operator, null)
    const path = '/console/session/operator'
    const input = { email: 'first@example.com', password: 'a rather long one' }
    const short = { ...input, password: 'elevenchars' }
    assert.equal((await anonymous.post(path, short, as(cookieOf(opened)))).status, 422)
    const created = await anonymous.post(path, input, as(cookieOf(opened)))
    assert.equal(created.status, 201, created.text)
    assert.equal((await anonymous.get('/console/session', as(cookieOf(opened)))).status, 401)
    const session = await anonymous.get('/console/session', as(cookieOf(created)))
    assert.deepEqual([session.body.operator, session.body.email], [created.body.id, input.email])
    const repeated = await anonymous.post(path, input, as(cookieOf(created)))
    assert.equal(outcome(repeated), '409 invalid_state')
  },
  options,
)

eachService(
  'a session outlives the time that its operator skips, and no other time',
  async (service) => {
    const { signInByLink, anonymous, as, advance } = await openConsole(service)
    const session = as(await signInByLink())
    const skip = await anonymous.post('/admin/clock', { advance_s: 30 * 24 * HOUR_S }, session)
    assert.equal(skip.status, 200, skip.text)
    assert.equal((await anonymous.get('/admin/keys', session)).status, 200)
    await advance(HOUR_S)
    assert.equal((await anonymous.get('/admin/keys', session)).status, 401)
  },
  options,
)
