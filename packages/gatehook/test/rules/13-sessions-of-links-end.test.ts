/**
 * §13: a session that a link opened ends when the access of its maker expires, or with the session
 * that created the link.
 */
import assert from 'node:assert/strict'
import {
  ADMIN,
  created,
  createPerson,
  nameOf,
  openedBy,
  type Post,
  TOKEN,
  tokenOf,
  withHeaders,
} from '../people/given-access-rig.ts'
import { eachMailService } from '../people/mail-rig.ts'
import { PASSWORD } from '../people/rig.ts'
import { cookieOf } from '../portal/rig.ts'

eachMailService('sessions that links opened end when their maker is known to end', async (rig) => {
  const { operator: admin, anonymous, service, clock } = rig
  const SOON_S = 600
  const soon = () => new Date(clock.now() + SOON_S * 1000).toISOString()
  const createKey = async (more: object = {}) => {
    const { id, key } = await created(
      admin.post('/admin/keys', { name: nameOf(), ...ADMIN, ...more }),
    )
    return { path: `/admin/keys/${id}`, post: service.as(key).post }
  }
  const open = async (post: Post) => {
    const console = await openedBy(rig, post, false)
    const grant = { customer: 'default', mode: 'live', can: ['users:read'] }
    const { url } = await created(post('/admin/portal-links', grant))
    const portal = await anonymous.post('/portal/session', { token: TOKEN.exec(url)![1] })
    const headers = { cookie: cookieOf(portal), 'x-gatehook-portal': '1' }
    return async () => [
      await console.status(),
      (await anonymous.get('/portal/session', headers)).status,
    ]
  }
  const OVERLAP = { overlap_seconds: SOON_S }
  const roll = async (path: string) => {
    clock.set(clock.now() + 1)
    const { status, text, body } = await admin.post(`${path}/roll`, OVERLAP)
    assert.equal(status, 200, text)
    return body
  }
  const ways: Readonly<Record<string, () => Promise<() => Promise<number[]>>>> = {
    'a key that expires': async () => open((await createKey({ expires_at: soon() })).post),
    async 'a key that expires from now on'() {
      const { path, post } = await createKey()
      const statuses = await open(post)
      assert.equal((await admin.patch(path, { expires_at: soon() })).status, 200)
      return statuses
    },
    async 'a key that is rolled'() {
      const { path, post } = await createKey()
      const statuses = await open(post)
      await roll(path)
      return statuses
    },
    async 'the former secret of a key'() {
      const { path, post } = await createKey()
      await roll(path)
      return open(post)
    },
  }
  for (const [name, way] of Object.entries(ways)) {
    const statuses = await way()
    assert.deepEqual(await statuses(), [200, 200], name)
    clock.set(clock.now() + SOON_S * 1000 + 1)
    assert.deepEqual(await statuses(), [401, 401], name)
  }
  const narrowed = await createKey({ cidrs: ['127.0.0.0/8'] })
  const ofKey = await open(narrowed.post)
  for (const [cidrs, expected] of [
    [['127.0.0.0/8', '192.0.2.0/24'], 200],
    [['127.0.0.1/32'], 401],
  ] as const) {
    assert.equal((await admin.patch(narrowed.path, { cidrs })).status, 200)
    assert.deepEqual(await ofKey(), [expected, expected], String(cidrs))
  }
  const { path } = await createKey()
  await roll(path)
  const stays = await open(service.as((await roll(path)).key).post)
  assert.deepEqual(await stays(), [200, 200])
  clock.set(clock.now() + SOON_S * 1000 + 1)
  assert.deepEqual(await stays(), [200, 200], 'by the newest secret')
})

eachMailService('the own end of a session ends what it gave, and only this', async (rig) => {
  const { anonymous } = rig
  const { email } = await createPerson(rig)
  const login = () =>
    tokenOf(anonymous.post('/auth/login', { username: email, password: PASSWORD }))
  const [own, other] = [await login(), await login()]
  const open = async (headers: Readonly<Record<string, string>>) =>
    (await openedBy(rig, withHeaders(rig, headers), false)).status
  const [ofOwn, ofOther] = [await open(own), await open(other)]
  assert.equal((await anonymous.post('/auth/logout', {}, own)).status, 204)
  assert.deepEqual([await ofOwn(), await ofOther()], [401, 200])
})
