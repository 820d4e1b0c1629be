/**
 * §13: later effects of an administrator need the rights that the administrator has then: a mail
 * that waits, a link to the console or the portal that is not used. Each kind of caller that
 * administers has a way to lose them.
 */
import assert from 'node:assert/strict'
import type { Reply } from '../../../../test/rig/service.ts'
import { createCurrentRights } from '../../src/assembly/current-rights.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { CALLERS } from '../../src/route-table.ts'
import { bearer } from '../oauth/issuer-rig.ts'
import {
  basicOf as basicOfClient,
  CALLBACK,
  exchange,
  form,
  obtainCode,
  PASSWORD as PASSWORD_OF_BROWSER,
} from '../oauth/rig.ts'
import {
  ADMIN,
  created,
  createPerson,
  mailedToken,
  nameOf,
  OPERATOR_PASSWORD,
  openedBy,
  type Post,
  TOKEN,
  tokenOf,
  withHeaders,
} from '../people/given-access-rig.ts'
import { eachMailService, type Inbox } from '../people/mail-rig.ts'
import { basicOf, PASSWORD } from '../people/rig.ts'
import { cookieOf } from '../portal/rig.ts'

const NOTICE = { subject: 'v1 ends', text: 'Please move to v2.' }
const CONTACT = 'api@acme.example'
const INVITED = 'invited@example.com'
const OTHER_PASSWORD = 'another horse battery staple'

/** An administrator, and the ways in which its access ends. */
interface Maker {
  readonly post: Post
  readonly ends: Readonly<Record<string, () => Promise<Reply>>>
  /** Ends that mail survives, which waits for its transport: it names no token or session. */
  readonly mailsStay?: readonly string[]
}

async function createOperator(
  rig: Inbox,
): Promise<Maker & { readonly id: string; readonly headers: Readonly<Record<string, string>> }> {
  const { operator: admin, anonymous } = rig
  const input = { email: `${nameOf()}@example.com`, password: OPERATOR_PASSWORD }
  const { id } = await created(admin.post('/admin/operators', input))
  const path = `/admin/operators/${id}`
  const { url } = await created(admin.post(`${path}/link`))
  const session = await anonymous.post('/console/session', { token: url.split('#token=')[1] })
  const headers = { cookie: cookieOf(session), 'x-gatehook-console': '1' }
  return {
    id,
    headers,
    post: withHeaders(rig, headers),
    ends: {
      disabled: () => admin.patch(path, { disabled: true }),
      'of a lesser role': () => admin.patch(path, { role: 'support' }),
    },
  }
}

/**
 * A maker of every kind that administers. Undefined: the command line, whose rights never end, and
 * workloads, to which no rule of an issuer grants `admin`.
 */
const MAKERS: Readonly<
  Record<
    (typeof CALLERS.administration.kinds)[number],
    ((rig: Inbox) => Promise<Maker>) | undefined
  >
> = {
  async key({ operator: admin, service, clock }) {
    const { id, key } = await created(admin.post('/admin/keys', { name: nameOf(), ...ADMIN }))
    return {
      post: service.as(key).post,
      ends: {
        revoked: () => admin.delete(`/admin/keys/${id}`),
        'without the scope': () => admin.patch(`/admin/keys/${id}`, { scopes: ['users:read'] }),
        rolled() {
          clock.set(clock.now() + 1)
          return admin.post(`/admin/keys/${id}/roll`, { overlap_seconds: 0 })
        },
      },
    }
  },
  async client(rig) {
    const { operator: admin, anonymous } = rig
    const client = await created(admin.post('/admin/clients', { name: nameOf(), ...ADMIN }))
    const grant = { grant_type: 'client_credentials' }
    const reply = await form(anonymous, '/oauth/token', grant, basicOfClient(client))
    const token = reply.body.access_token
    const path = `/admin/clients/${client.client_id}`
    return {
      post: withHeaders(rig, bearer(token)),
      mailsStay: ['of a revoked token', 'with a new secret'],
      ends: {
        deleted: () => admin.delete(path),
        blocked: () => admin.patch(path, { blocked: true }),
        'without the scope': () => admin.patch(path, { scopes: ['users:read'] }),
        'of a revoked token': () =>
          form(anonymous, '/oauth/revoke', { token }, basicOfClient(client)),
        'with a new secret': () => admin.post(`${path}/rotate-secret`, { overlap_seconds: 0 }),
      },
    }
  },
  workload: undefined,
  async person(rig) {
    const { operator: admin, anonymous } = rig
    const { id, email } = await createPerson(rig)
    const path = `/admin/users/${id}`
    const own = basicOf(email)
    const passwords = { current: PASSWORD, new: OTHER_PASSWORD }
    return {
      post: withHeaders(rig, own),
      ends: {
        disabled: () => admin.patch(path, { disabled: true }),
        'without the scope': () => admin.patch(path, { scopes: ['users:read'] }),
        'with a password of an administrator': () =>
          admin.put(`${path}/password`, { password: OTHER_PASSWORD }),
        'with an own new password': () => anonymous.post('/auth/password', passwords, own),
        'without sessions': () => admin.delete(`${path}/sessions`),
      },
    }
  },
  async application(rig) {
    const { operator: admin, anonymous, service } = rig
    const person = await createPerson(rig, PASSWORD_OF_BROWSER)
    const grants = { grant_types: ['authorization_code'], redirect_uris: [CALLBACK] }
    const input = { name: nameOf(), ...ADMIN, ...grants }
    const client = await created(admin.post('/admin/clients', input))
    const from = { app: service.app, anonymous, person, client } as never
    const token = exchange(from, await obtainCode(from, { scope: 'admin' }))
    const login = { username: person.email, password: PASSWORD_OF_BROWSER }
    return {
      post: withHeaders(rig, await tokenOf(token)),
      ends: {
        deleted: () => admin.delete(`/admin/clients/${client.client_id}`),
        'of a disabled person': () => admin.patch(`/admin/users/${person.id}`, { disabled: true }),
        async 'without its consent'() {
          const own = await tokenOf(anonymous.post('/auth/login', login))
          return anonymous.delete(`/auth/consents/${client.client_id}`, own)
        },
      },
    }
  },
  operator: createOperator,
  cli: undefined,
}

/** A person with a session of its own, without a client of another party. */
async function createSignedIn(rig: Inbox): Promise<Maker> {
  const { operator: admin, anonymous } = rig
  const { id, email } = await createPerson(rig)
  const path = `/admin/users/${id}`
  const own = await tokenOf(anonymous.post('/auth/login', { username: email, password: PASSWORD }))
  return {
    post: withHeaders(rig, own),
    ends: {
      'with a password of an administrator': () =>
        admin.put(`${path}/password`, { password: OTHER_PASSWORD }),
      'without sessions': () => admin.delete(`${path}/sessions`),
      'without the session': async () =>
        admin.delete(`${path}/sessions/${(await admin.get(`${path}/sessions`)).body.data[0].id}`),
      'that has signed out everywhere': () => anonymous.post('/auth/logout-all', {}, own),
      'that has signed out': () => anonymous.post('/auth/logout', {}, own),
    },
  }
}

/** Calls `body` with each kind of maker, first with one who stays, then for each end of one. */
async function eachEnd(
  rig: Inbox,
  body: (name: string, post: Post, end: () => Promise<boolean>) => Promise<void>,
  isOfMail = false,
): Promise<void> {
  const makers = { ...MAKERS, 'signed-in person': createSignedIn }
  for (const [kind, create] of Object.entries(makers)) {
    if (!create) continue
    const { post, ends, mailsStay = [] } = await create(rig)
    await body(`a ${kind} that stays`, post, async () => false)
    for (const way of Object.keys(ends)) {
      if (isOfMail && mailsStay.includes(way)) continue
      const maker = await create(rig)
      await body(`a ${kind} ${way}`, maker.post, async () => {
        const { status, text } = await maker.ends[way]!()
        assert.ok(status < 300, `a ${kind} ${way}: ${text}`)
        return true
      })
    }
  }
}

const createInvited = async ({ operator: admin }: Inbox): Promise<string> => {
  const input = { email: INVITED, password: OPERATOR_PASSWORD }
  return `/admin/operators/${(await created(admin.post('/admin/operators', input))).id}`
}

eachMailService('a mail of an administrator is sent while it may send one', async (rig) => {
  const { operator: admin, inbox, service } = rig
  const acme = { name: 'Acme', contact_email: CONTACT }
  const customer = (await created(admin.post('/admin/customers', acme))).id
  const key = await service.key({ customer, scopes: ['users:read'], mode: 'live' })
  assert.equal((await service.as(key).get('/api/v1/users')).status, 200)
  const invited = await createInvited(rig)
  await eachEnd(
    rig,
    async (name, post, end) => {
      const invitation = await post(`${invited}/invitation`)
      assert.equal(invitation.status, 202, `${name}: ${invitation.text}`)
      assert.equal((await post('/admin/versions/v1/notices', NOTICE)).body.sent, true, name)
      const hasEnded = await end()
      const all = (await inbox.receive()).map(({ to }) => to)
      const received = all.filter((to) => !to.startsWith('maker'))
      assert.deepEqual(received.sort(), hasEnded ? [] : [CONTACT, INVITED], name)
    },
    true,
  )
})

eachMailService(
  'a link to the console or the portal ends with the access of its maker',
  async (rig) => {
    const { anonymous } = rig
    const invited = await createInvited(rig)
    await eachEnd(rig, async (name, post, end) => {
      const { url } = await created(post(`${invited}/link`))
      const grant = { customer: 'default', mode: 'live', can: ['users:read'] }
      const portal = await created(post('/admin/portal-links', grant))
      const hasEnded = await end()
      const ofPortal = { token: portal.url.split('#token=')[1] }
      const opened = await anonymous.post('/portal/session', ofPortal)
      assert.equal(opened.status, hasEnded ? 401 : 201, `${name}: ${opened.text}`)
      const token = url.split('#token=')[1]
      const session = await anonymous.post('/console/session', { token })
      assert.equal(session.status, hasEnded ? 401 : 201, `${name}: ${session.text}`)
    })
  },
)

eachMailService('a link of an invitation ends with its maker', async (rig) => {
  const { anonymous, inbox } = rig
  const invited = await createInvited(rig)
  await eachEnd(rig, async (name, post, end) => {
    assert.equal((await post(`${invited}/invitation`)).status, 202, name)
    const token = await mailedToken(inbox)
    const hasEnded = await end()
    const session = await anonymous.post('/console/session', { token })
    assert.equal(session.status, hasEnded ? 401 : 201, `${name}: ${session.text}`)
  })
})

eachMailService('the link of an invitation opens once its maker has signed out', async (rig) => {
  const { anonymous, inbox } = rig
  const invited = await createInvited(rig)
  const { post, headers } = await createOperator(rig)
  assert.equal((await post(`${invited}/invitation`)).status, 202)
  const token = await mailedToken(inbox)
  assert.ok((await anonymous.delete('/console/session', headers)).status < 300)
  assert.equal((await anonymous.post('/console/session', { token })).status, 201)
})

eachMailService('sessions that links opened end with the access of their maker', async (rig) => {
  const { anonymous } = rig
  await eachEnd(rig, async (name, post, end) => {
    const opened = await openedBy(rig, post, false)
    const mailed = await openedBy(rig, post, true)
    const grant = { customer: 'default', mode: 'live', can: ['users:read'] }
    const { url } = await created(post('/admin/portal-links', grant))
    const portal = await anonymous.post('/portal/session', { token: TOKEN.exec(url)![1] })
    assert.equal(portal.status, 201, portal.text)
    const headers = { cookie: cookieOf(portal), 'x-gatehook-portal': '1' }
    const status = (await end()) ? 401 : 200
    for (const { status: of } of [opened, mailed]) assert.equal(await of(), status, name)
    assert.equal((await anonymous.get('/portal/session', headers)).status, status, name)
  })
})

eachMailService(
  'sessions that links of an operator opened end with it, and only these',
  async (rig) => {
    const { operator: admin, anonymous } = rig
    for (const way of ['disabled', 'of a lesser role'] as const) {
      const ann = await createOperator(rig)
      const stays = await createOperator(rig)
      const opened = await openedBy(rig, ann.post, false)
      const mailed = await openedBy(rig, ann.post, true)
      const further = await openedBy(rig, opened.post, false)
      const other = await openedBy(rig, stays.post, false)
      const link = (await created(opened.post(`/admin/operators/${stays.id}/link`))).url
      for (const { status } of [opened, mailed, further, other]) assert.equal(await status(), 200)
      await ann.ends[way]!()
      for (const { status } of [opened, mailed, further]) assert.equal(await status(), 401, way)
      assert.equal(await other.status(), 200)
      const [, token] = TOKEN.exec(link)!
      assert.equal((await anonymous.post('/console/session', { token })).status, 401)
      // The account itself stays.
      assert.equal((await opened.signIn()).status, 201)
      assert.equal((await admin.get('/admin/operators')).status, 200)
    }
  },
)

eachMailService('a link of a former session or role stays deleted', async (rig) => {
  const { operator: admin, anonymous } = rig
  const invited = await createInvited(rig)
  const { id, post } = await createOperator(rig)
  const path = `/admin/operators/${id}`
  const endSession = async () => {
    const { data } = (await admin.get('/admin/operator-sessions')).body
    const own = data.find(({ operator }: { operator: string }) => operator === id)
    return admin.delete(`/admin/operator-sessions/${own.id}`)
  }
  const ends: readonly (readonly (() => Promise<Reply>)[])[] = [
    [
      () => admin.patch(path, { role: 'support' }),
      () => admin.patch(path, { role: 'administrator' }),
    ],
    [endSession],
  ]
  for (const steps of ends) {
    const { url } = await created(post(`${invited}/link`))
    for (const step of steps) assert.ok((await step()).status < 300)
    const token = url.split('#token=')[1]
    assert.equal((await anonymous.post('/console/session', { token })).status, 401)
  }
})

eachMailService('only the command line has rights without an end', async (rig) => {
  const { operator: admin, service } = rig
  const { mayStillAdminister } = createCurrentRights(undefined, () => rig.clock.now())
  const stored = { subject: '1', scope: scopeOf(1, 'live'), role: 'administrator' } as const
  for (const kind of CALLERS.administration.kinds) {
    const ofKind =
      kind === 'application' ? ({ kind: 'person', sessionId: 'ses_1' } as const) : { kind }
    const maker = { ...stored, ...ofKind, clientId: 'none' }
    const may = await service.app.db.write((tx) => mayStillAdminister(tx, maker))
    assert.equal(may, kind === 'cli', kind)
  }
  const rules = [{ match: { sub: 'job' }, ...ADMIN }]
  const issuer = { issuer: 'https://ci.example', jwks_uri: 'https://ci.example/keys', rules }
  const refused = await admin.post('/admin/issuers', issuer)
  assert.deepEqual([refused.status, refused.body.errors[0].pointer], [422, '/rules/0/scopes/0'])
})
