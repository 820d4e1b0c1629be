/**
 * §11.1: an idempotency key belongs to customer, mode, kind, subject, client, method, path and
 * version. A caller that differs in one of them gets no response of another.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../../../../test/rig/service.ts'
import {
  basicOf as basicOfClient,
  type Client,
  exchange,
  form,
  obtainCode,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

const KEY = { 'idempotency-key': 'the-same-of-all' }
const scopes = ['users:read', 'orders:read', 'orders:write']
const bearer = ({ body }: Reply) => ({ authorization: `Bearer ${body.access_token}` })

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`no caller gets the response to another one [${kind}]`, async (t) => {
    const rig = await openOauthFixture(t, kind)
    const { anonymous, admin, client, person, createClient, createPerson } = rig
    const tokenOf = async (recipient: Client) =>
      exchange(rig, await obtainCode(rig, {}, recipient), {}, basicOfClient(recipient))
    const keyOf = async (members: object = {}) => {
      const { body } = await admin.post('/admin/keys', { name: 'k', scopes, ...members })
      return { 'x-api-key': body.key as string }
    }
    const other = await createPerson()
    const customer = (await admin.post('/admin/customers', { name: 'Other' })).body.id
    const basic = (email: string) => ({ authorization: `Basic ${btoa(`${email}:${PASSWORD}`)}` })
    const credentials = { username: person.email, password: PASSWORD }
    const grant = { grant_type: 'client_credentials' }
    const callers: Record<string, Record<string, string>> = {
      'the person by password': basic(person.email),
      'the person by login': bearer(await anonymous.post('/auth/login', credentials)),
      'an application of the person': bearer(await tokenOf(client)),
      'another application of the person': bearer(await tokenOf(await createClient())),
      'another person': basic(other.email),
      'the application itself': bearer(
        await form(anonymous, '/oauth/token', grant, basicOfClient(client)),
      ),
      'a key': await keyOf(),
      'another key': await keyOf(),
      'a key of the other mode': await keyOf({ mode: 'test' }),
      'a key of another customer': await keyOf({ customer }),
    }
    const body = { user_id: person.id, amount: 500 }
    const requests = ['/api/v2/orders', '/api/v1/orders'] as const
    const ids = new Set<unknown>()
    for (const [name, credential] of Object.entries(callers)) {
      for (const path of requests) {
        const first = await anonymous.post(path, body, { ...credential, ...KEY })
        assert.ok([201, 422].includes(first.status), `${name}: ${first.text}`)
        assert.equal(first.headers['idempotent-replayed'], undefined, name)
        const repeat = await anonymous.post(path, body, { ...credential, ...KEY })
        assert.equal(repeat.headers['idempotent-replayed'], 'true', name)
        assert.deepEqual([repeat.status, repeat.body.id], [first.status, first.body.id], name)
        if (first.status === 201) ids.add(first.body.id)
      }
    }
    assert.equal(ids.size, 2 * 7)
  })
}
