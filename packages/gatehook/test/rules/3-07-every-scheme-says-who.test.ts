/** §3.7: `GET /protected` names the subject, whatever the credential was. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, mailOf, signing } from '../people/rig.ts'

eachService('a person by password and by login, a key by its id', async (service) => {
  const { make, token, anybody } = await signing(service)
  const ada = await make('ada')
  const ask = (version: string, headers: Record<string, string>) =>
    anybody.get(`/api/${version}/protected`, headers)
  const expected = { status: 'ok', user: String(ada.id) }
  const bearer = bearerOf(await token(mailOf('ada')))
  for (const version of ['v1', 'v2']) {
    for (const headers of [basicOf(mailOf('ada')), bearer]) {
      const { status, body } = await ask(version, headers)
      assert.deepEqual([status, body], [200, expected])
    }
    const { body } = await service.get(`/api/${version}/protected`)
    assert.match(body.user, /^key_/)
  }
})
