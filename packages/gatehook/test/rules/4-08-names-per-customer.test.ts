/**
 * §4.8: with `names: 'customer'` one address signs in for several customers and modes, and no
 * answer for one of them reaches another.
 */
import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import type { Reply } from '../../../../test/rig/service.ts'
import {
  type Account,
  ADDRESS,
  clubs,
  createAccounts,
  oneClub,
  type Place,
  placeHeaders,
} from '../fixtures/clubs.ts'
import { authorizePath, CALLBACK, follow, openBrowser } from '../oauth/rig.ts'
import { eachMailService, type Inbox, tokenOf } from '../people/mail-rig.ts'
import { basicOf, bearerOf } from '../people/rig.ts'
import { cookieOf, OWN } from '../portal/rig.ts'

const loginAt = ({ anonymous }: Inbox, place: Place, password: string) =>
  anonymous.post('/auth/login', { username: ADDRESS.toUpperCase(), password, ...place })

/** Calls for each account with the password of each account; `isOwn`: whether they are the same. */
async function eachPair(
  accounts: readonly Account[],
  call: (account: Account, password: string, isOwn: boolean) => Promise<void>,
): Promise<void> {
  for (const account of accounts) {
    for (const other of accounts) await call(account, other.password, other === account)
  }
}

eachMailService(
  'login, Basic, refresh and sessions belong to the customer and mode of the request',
  async (rig) => {
    const { anonymous } = rig
    const accounts = await createAccounts(rig)
    const tokens = new Map<Account, { access_token: string; refresh_token: string }>()
    await eachPair(accounts, async (account, password, isOwn) => {
      const reply = await loginAt(rig, account.place, password)
      assert.equal(reply.status, isOwn ? 200 : 401, reply.text)
      if (!isOwn) return
      const { sub, customer, mode } = decodeJwt(reply.body.access_token)
      assert.deepEqual([sub, { customer, mode }], [String(account.id), account.place])
      tokens.set(account, reply.body)
    })
    // The second round answers from the cache of verified pairs.
    for (const round of [1, 2]) {
      await eachPair(accounts, async (account, password, isOwn) => {
        const headers = { ...basicOf(ADDRESS, password), ...placeHeaders(account.place) }
        const reply = await anonymous.get('/api/v1/protected', headers)
        assert.equal(reply.status, isOwn ? 200 : 401, `round ${round}`)
        if (isOwn) assert.equal(reply.body.user, String(account.id))
        assert.match(reply.headers.vary!, /Authorization.*Gatehook-Customer, Gatehook-Mode/)
      })
    }
    for (const account of accounts) {
      const { refresh_token } = tokens.get(account)!
      const refreshed = await anonymous.post('/auth/refresh', { refresh_token })
      const { sub, customer, mode } = decodeJwt(refreshed.body.access_token)
      assert.deepEqual([sub, { customer, mode }], [String(account.id), account.place])
      const bearer = bearerOf(refreshed.body.access_token)
      const sessions = await anonymous.get('/auth/sessions', bearer)
      assert.equal(sessions.body.data.length, 1)
      const rows = (await anonymous.get('/api/v1/members', bearer)).body.data
      assert.deepEqual(
        rows.map(({ id }: { id: number }) => id),
        [account.id],
      )
      tokens.set(account, refreshed.body)
    }
    const [first, ...others] = accounts
    await anonymous.post('/auth/logout-all', undefined, bearerOf(tokens.get(first!)!.access_token))
    for (const account of others) {
      const reply = await anonymous.get(
        '/auth/sessions',
        bearerOf(tokens.get(account)!.access_token),
      )
      assert.equal(reply.body.data.length, 1)
    }
  },
  { service: clubs },
)

eachMailService(
  'a password reset changes the account of its customer and mode',
  async (rig) => {
    const { anonymous, inbox } = rig
    const accounts = await createAccounts(rig)
    for (const [n, { place }] of accounts.entries()) {
      const request = await anonymous.post('/auth/password/forgot', { email: ADDRESS, ...place })
      assert.deepEqual([request.status, request.text], [202, ''])
      const token = tokenOf((await inbox.receive())[0])
      const password = `another password ${n}`
      const reset = await anonymous.post('/auth/password/reset', { token, password })
      assert.equal(reset.status, 204, reset.text)
      await inbox.receive()
      for (const [at, { place, password: earlier }] of accounts.entries()) {
        const current = at <= n ? `another password ${at}` : earlier
        assert.equal((await loginAt(rig, place, current)).status, 200, `${n} ${at}`)
      }
    }
  },
  { service: clubs },
)

eachMailService(
  'strangers sign up in the customer and mode that they name, each address once',
  async (rig) => {
    const { anonymous, inbox, operator } = rig
    const accounts = await createAccounts(rig)
    const email = 'new@club.example'
    const signUp = async (place: Place) => {
      const reply = await anonymous.post('/auth/signup', { name: 'New', email, ...place })
      assert.deepEqual([reply.status, reply.text], [202, ''])
      return tokenOf((await inbox.receive()).at(-1))
    }
    for (const [n, { place }] of accounts.entries()) {
      // Two sign-ups of one name at once: one wins.
      const tokens = [await signUp(place), await signUp(place)]
      const again = await anonymous.post('/auth/email/resend', { email, ...place })
      assert.deepEqual([again.status, (await inbox.receive()).length], [202, 1])
      const statuses = await Promise.all(
        tokens.map(async (token) => {
          const input = { token, password: `password of sign-up ${n}` }
          return (await anonymous.post('/auth/email/verify', input)).status
        }),
      )
      assert.equal(statuses.filter((status) => status === 204).length, 1, statuses.join())
      assert.ok(
        statuses.every((status) => [204, 401, 409].includes(status)),
        statuses.join(),
      )
      const path = `/admin/users?username=${email}&customer=${place.customer}&mode=${place.mode}`
      assert.equal((await operator.get(path)).body.data.length, 1)
      await anonymous.post('/auth/signup', { name: 'New', email, ...place })
      assert.match((await inbox.receive())[0]!.subject, /You have an account/)
    }
    for (const [n, { place }] of accounts.entries()) {
      const input = { username: email, password: `password of sign-up ${n}`, ...place }
      assert.equal((await anonymous.post('/auth/login', input)).status, 200)
    }
  },
  { service: clubs },
)

eachMailService(
  'a changed name is compared with those of the customer and mode of its person',
  async (rig) => {
    const { anonymous, inbox, operator } = rig
    const [first, second] = await createAccounts(rig)
    const person = { name: 'X', email: 'taken@club.example', password: 'password of X' }
    assert.equal((await operator.post('/admin/users', { ...person, ...second!.place })).status, 201)
    const { place, password } = first!
    const rename = async (from: string, username: string) => {
      const session = await anonymous.post('/auth/login', { username: from, password, ...place })
      const bearer = bearerOf(session.body.access_token)
      const reply = await anonymous.post('/auth/username', { username, password }, bearer)
      assert.equal(reply.status, 202, reply.text)
      return (await inbox.receive())[0]!
    }
    const token = tokenOf(await rename(ADDRESS, 'TAKEN@club.example'))
    const confirmed = await anonymous.post('/auth/username/confirm', { token })
    assert.equal(confirmed.status, 204, confirmed.text)
    await inbox.receive()
    const input = { username: person.email, password: person.password }
    assert.equal((await anonymous.post('/auth/login', { ...input, ...second!.place })).status, 200)
    assert.equal((await loginAt(rig, second!.place, second!.password)).status, 200)
    const again = { ...person, email: ADDRESS, ...place }
    assert.equal((await operator.post('/admin/users', again)).status, 201, 'the name is free')
    const mail = await rename(person.email, 'o\u0308Z@CLUB.example')
    assert.deepEqual([mail.to, /You have an account/.test(mail.subject)], [ADDRESS, true])
  },
  { service: clubs },
)

eachMailService(
  'the pages sign in for the customer and mode of their client, or of their request',
  async (rig) => {
    const { operator, anonymous, service } = rig
    const accounts = await createAccounts(rig)
    const clients = await Promise.all(
      accounts.map(async ({ place }, n) => {
        const scopes = ['members:read']
        const body = { name: `App ${n}`, redirect_uris: [CALLBACK], scopes, ...place }
        return (await operator.post('/admin/clients', body)).body as { client_id: string }
      }),
    )
    await eachPair(accounts, async (account, password, isOwn) => {
      const browser = openBrowser(service.app)
      const path = authorizePath(clients[accounts.indexOf(account)]!)
      const form = await browser.get(path)
      const input = { username: ADDRESS, password, action: 'sign-in' }
      const page = await browser.submit(form, input)
      assert.equal(page.status, isOwn ? 303 : 403)
      const portal = await anonymous.post(
        '/portal/session',
        { username: ADDRESS, password, ...account.place },
        OWN,
      )
      assert.equal(portal.status, isOwn ? 201 : 401)
      if (!isOwn) return assert.match(page.text, /E-mail or password is wrong/)
      const { id } = portal.body.customer
      assert.deepEqual({ customer: id, mode: portal.body.mode }, account.place)
      assert.ok(cookieOf(portal))
      assert.match((await follow(browser, page)).text, /name="action" value="allow"/)
      for (const client of clients) {
        if (client === clients[accounts.indexOf(account)]) continue
        const foreign = await browser.get(authorizePath(client))
        assert.match(foreign.text, /belongs to another organization|is for \w+ accounts/)
        const silent = await browser.get(authorizePath(client, { prompt: 'none' }))
        assert.equal(silent.location!.searchParams.get('error'), 'login_required')
        assert.equal(silent.location!.searchParams.get('code'), null)
      }
    })
  },
  { service: clubs },
)

const shapeOf = ({ status, body, headers }: Reply) => {
  const { request_id: _, ...rest } = body ?? {}
  return [status, rest, headers['www-authenticate'], headers['cache-control']]
}

eachMailService(
  'a request names its customer; an unknown one answers like a wrong password',
  async (rig) => {
    const { anonymous, inbox } = rig
    const [account] = await createAccounts(rig)
    const { place, password } = account!
    const unknown = { customer: 'cus_unknown', mode: 'live' } as const
    const wrong = 'a wrong password'
    assert.deepEqual(
      shapeOf(await loginAt(rig, unknown, password)),
      shapeOf(await loginAt(rig, place, wrong)),
    )
    const portal = (of: Place, text: string) =>
      anonymous.post('/portal/session', { username: ADDRESS, password: text, ...of }, OWN)
    assert.deepEqual(shapeOf(await portal(unknown, password)), shapeOf(await portal(place, wrong)))
    const basic = (text: string, headers: Record<string, string>) =>
      anonymous.get('/api/v1/protected', { ...basicOf(ADDRESS, text), ...headers })
    assert.deepEqual(
      shapeOf(await basic(password, placeHeaders(unknown))),
      shapeOf(await basic(wrong, placeHeaders(place))),
    )
    const forgot = (of: object) =>
      anonymous.post('/auth/password/forgot', { email: ADDRESS, ...of })
    const body = { name: 'New', email: 'new@club.example' }
    const signUp = (of: object) => anonymous.post('/auth/signup', { ...body, ...of })
    const resend = (of: object) =>
      anonymous.post('/auth/email/resend', { email: body.email, ...of })
    for (const request of [forgot, signUp, resend]) {
      assert.equal((await request(unknown)).status, 202)
      assert.deepEqual(await inbox.receive(), [])
    }
    const input = { username: ADDRESS, password }
    const missing = [
      await anonymous.post('/auth/login', input),
      await anonymous.post('/portal/session', input, OWN),
      await basic(password, {}),
      await forgot({}),
      await signUp({}),
      await resend({ mode: 'live' }),
    ]
    for (const reply of missing) {
      assert.deepEqual([reply.status, reply.body.error], [400, 'customer_required'], reply.text)
    }
    const { customer } = place
    assert.equal((await anonymous.post('/auth/login', { ...input, customer })).status, 200, 'live')
    assert.equal((await basic(password, { 'gatehook-customer': customer })).status, 200, 'live')
    const mode = await basic(password, { 'gatehook-customer': customer, 'gatehook-mode': 'x' })
    assert.deepEqual([mode.status, mode.body.error], [400, 'invalid_request'])
    assert.match((await anonymous.get('/docs/v1/authentication')).text, /Gatehook-Customer/)
  },
  { service: clubs },
)

eachMailService(
  'failed passwords count for one customer and mode',
  async (rig) => {
    const [first, ...others] = await createAccounts(rig)
    for (let n = 0; n < 10; n++) await loginAt(rig, first!.place, 'a wrong password')
    assert.equal((await loginAt(rig, first!.place, first!.password)).status, 429)
    for (const { place, password } of others) {
      assert.equal((await loginAt(rig, place, password)).status, 200)
    }
    const unknown = { customer: 'cus_unknown', mode: 'live' } as const
    for (let n = 0; n < 10; n++) await loginAt(rig, unknown, 'a wrong password')
    assert.equal((await loginAt(rig, unknown, 'x')).status, 429, 'like that of a known one')
    assert.equal((await loginAt(rig, { ...unknown, customer: 'cus_other' }, 'x')).status, 401)
  },
  { service: clubs },
)

eachMailService(
  'without the option a request names no customer',
  async ({ anonymous, createPerson, service }) => {
    await createPerson('ada', { password: 'correct horse' })
    const place = { customer: 'cus_default', mode: 'live' }
    const input = { username: 'ada@example.com', password: 'correct horse' }
    const replies = [
      await anonymous.post('/auth/login', { ...input, ...place }),
      await anonymous.post('/portal/session', { ...input, ...place }, OWN),
      await anonymous.post('/auth/password/forgot', { email: input.username, ...place }),
    ]
    for (const { status, body } of replies) {
      assert.deepEqual([status, body.error], [400, 'invalid_request'])
    }
    const reply = await service.get('/api/v1/members')
    assert.doesNotMatch(reply.headers.vary!, /Gatehook-Customer/)
  },
  { service: oneClub },
)
