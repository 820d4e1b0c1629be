/**
 * §11.3, §11.5: an application of a person is a credential of its own. Its requests and streams use
 * up no limit of the person or of another application.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../../../../test/rig/service.ts'
import { type Principal, scopeOf } from '../../src/kernel/principal.ts'
import { createStreamLimits } from '../../src/protocol/http/stream-limits.ts'
import {
  basicOf as basicOfClient,
  type Client,
  exchange,
  obtainCode,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

const LIMIT = 40
const bearer = ({ body }: Reply) => ({ authorization: `Bearer ${body.access_token}` })

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`an application over its limit delays no other of the person [${kind}]`, async (t) => {
    const env = { GATEHOOK_RATE_LIMIT: `${LIMIT}/60` }
    const rig = await openOauthFixture(t, kind, { env })
    const { anonymous, client, person, createClient } = rig
    const tokenOf = async (recipient: Client) =>
      bearer(
        await exchange(rig, await obtainCode(rig, {}, recipient), {}, basicOfClient(recipient)),
      )
    const login = { username: person.email, password: PASSWORD }
    const others = {
      'another application': await tokenOf(await createClient()),
      'the login': bearer(await anonymous.post('/auth/login', login)),
      'the password': { authorization: `Basic ${btoa(`${person.email}:${PASSWORD}`)}` },
    }
    const application = await tokenOf(client)
    const statusOf = async (headers: Record<string, string>) =>
      (await anonymous.get('/api/v2/protected', headers)).status
    for (let n = 0; n < LIMIT; n++) assert.equal(await statusOf(application), 200, String(n))
    assert.equal(await statusOf(application), 429)
    for (const [name, headers] of Object.entries(others)) {
      assert.equal(await statusOf(headers), 200, name)
    }
  })
}

test('the streams of an application use up none of the person or of another application', () => {
  const limits = createStreamLimits()
  const caller = (clientId?: string): Principal => ({
    ...{ customer: 'cus_a', mode: 'live', scope: scopeOf(1, 'live'), kind: 'person' },
    ...{ subject: '7', scopes: new Set(), ...(clientId !== undefined && { clientId }) },
  })
  while (limits.enter(caller('a'), assert.fail));
  assert.throws(() => limits.admit(caller('a')), /5 streams of a credential/)
  for (const other of [caller('b'), caller()]) limits.admit(other)
})
