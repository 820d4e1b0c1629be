/**
 * §4.5, §6.9: each way to sign a person out ends everything in which the person is signed in, and
 * nothing of another person. The table has each way and each thing that it ends.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import type { Reply } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import {
  authorizePath,
  basicOf,
  exchange,
  form,
  grantConsent,
  type OauthFixture,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
  type Person,
} from '../oauth/rig.ts'
import { resetTokenOf, usernameTokenOf } from '../people/mail-token-rig.ts'
import { cookieOf, OWN } from '../portal/rig.ts'

const list = { filter: [], sort: [] }
const accessOf = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})
/** A row can lose its sign-in name, and get it back. */
const users = resource('users', {
  fields: { id: f.id(), name: f.string(), email: f.email().nullable().unique() },
  list,
  access: accessOf('users'),
  events: [],
}).signsIn({ username: 'email', signUp: { fields: ['name'] } })
const orders = resource('orders', {
  fields: { id: f.id(), user_id: f.ref('users').owner() },
  list,
  access: accessOf('orders'),
  events: [],
})
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [users, orders],
}).mail({ send: async () => {} }, { from: 'Shop <no-reply@example.com>' })

const NEW = 'a very different horse'
const login = (person: Person) => ({
  authorization: `Basic ${btoa(`${person.email}:${PASSWORD}`)}`,
})
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Each way to sign a person out. `withOwn`: the session that does it stays. */
const WAYS: Readonly<Record<string, (at: OauthFixture, person: Person) => Promise<Reply>>> = {
  'logout-all': ({ anonymous }, person) =>
    anonymous.post('/auth/logout-all', undefined, login(person)),
  'sessions ended by the administrator': ({ admin }, { id }) =>
    admin.delete(`/admin/users/${id}/sessions`),
  'a disabled account': async ({ admin }, { id }) => {
    assert.equal((await admin.patch(`/admin/users/${id}`, { disabled: true })).status, 200)
    return admin.patch(`/admin/users/${id}`, { disabled: false })
  },
  'another role': ({ admin }, { id }) => admin.patch(`/admin/users/${id}`, { role: 'guest' }),
  'a lost scope': ({ admin }, { id }) =>
    admin.patch(`/admin/users/${id}`, { scopes: ['orders:read'] }),
  'a password of the administrator': ({ admin }, { id }) =>
    admin.put(`/admin/users/${id}/password`, { password: NEW }),
  'a password of the person': ({ anonymous }, person) =>
    anonymous.post('/auth/password', { current: PASSWORD, new: NEW }, login(person)),
  'a password reset by mail': async ({ app, anonymous }, { id, email }) => {
    const token = await resetTokenOf(app, id, email)
    return anonymous.post('/auth/password/reset', { token, password: NEW })
  },
  'another sign-in name': async ({ app, anonymous }, { id, email }) => {
    const token = await usernameTokenOf(app, id, `new.${email}`)
    return anonymous.post('/auth/username/confirm', { token })
  },
  'a deleted row': ({ admin }, { id }) => admin.delete(`/admin/as/default/live/api/v1/users/${id}`),
  'a credential that was removed and set again': async ({ admin }, { id, email }) => {
    const row = `/admin/as/default/live/api/v1/users/${id}`
    assert.equal((await admin.patch(row, { email: null })).status, 200)
    assert.equal((await admin.patch(row, { email })).status, 200)
    return admin.put(`/admin/users/${id}/password`, { password: PASSWORD })
  },
}

type IsAlive = () => Promise<boolean>

/** Each thing in which a person is signed in: opens it, and returns whether it is still alive. */
const THINGS: Readonly<Record<string, (at: OauthFixture, person: Person) => Promise<IsAlive>>> = {
  async 'an access token'({ anonymous }, { email }) {
    const { body } = await anonymous.post('/auth/login', { username: email, password: PASSWORD })
    const probe = () => anonymous.get('/api/v1/protected', bearer(body.access_token))
    return async () => (await probe()).status === 200
  },
  async 'a refresh token'({ anonymous }, { email }) {
    const { body } = await anonymous.post('/auth/login', { username: email, password: PASSWORD })
    const { refresh_token } = body
    return async () => (await anonymous.post('/auth/refresh', { refresh_token })).status === 200
  },
  async 'the session of an application'(at, person) {
    const { body } = await exchange(at, await obtainCode({ ...at, person }))
    const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
    const refresh = () => form(at.anonymous, '/oauth/token', fields, basicOf(at.client))
    return async () => (await refresh()).status === 200
  },
  async 'an authorization code'(at, person) {
    const code = await obtainCode({ ...at, person })
    return async () => (await exchange(at, code)).status === 200
  },
  async 'a browser at the sign-in page'({ app, client }, person) {
    const [browser, path] = [openBrowser(app), authorizePath(client)]
    await grantConsent(browser, path, person)
    return async () => (await browser.get(path)).location?.searchParams.has('code') === true
  },
  async 'a session of the portal'({ anonymous }, { email }) {
    const credentials = { username: email, password: PASSWORD }
    const reply = await anonymous.post('/portal/session', credentials)
    const headers = { ...OWN, cookie: cookieOf(reply) }
    return async () => (await anonymous.get('/portal/session', headers)).status === 200
  },
  async 'a password reset that waits'({ app, anonymous }, { id, email }) {
    const token = await resetTokenOf(app, id, email)
    const reset = () => anonymous.post('/auth/password/reset', { token, password: NEW })
    return async () => (await reset()).status === 204
  },
}

for (const { name } of databases) {
  test(`each way to sign a person out ends each thing [${name}]`, async (t) => {
    const at = await openOauthFixture(t, name, { service: shop })
    // The person whom no way signs out.
    const other = await at.createPerson()
    const others = await Promise.all(Object.values(THINGS).map((open) => open(at, other)))
    for (const [way, signOut] of Object.entries(WAYS)) {
      const person = await at.createPerson()
      const opened: [thing: string, isAlive: IsAlive][] = []
      for (const [thing, open] of Object.entries(THINGS)) {
        opened.push([thing, await open(at, person)])
      }
      const { status, text } = await signOut(at, person)
      assert.ok(status >= 200 && status < 300, `${way}: ${status} ${text}`)
      for (const [thing, isAlive] of opened)
        assert.equal(await isAlive(), false, `${way}: ${thing}`)
    }
    for (const [index, thing] of Object.keys(THINGS).entries()) {
      assert.equal(await others[index]!(), true, `of another person: ${thing}`)
    }
  })
}
