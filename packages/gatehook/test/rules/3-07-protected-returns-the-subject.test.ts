/** §3.7: `GET /protected` returns the subject, for every scheme. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, emailOf, openPeople } from '../people/rig.ts'

eachService(
  '/protected returns the id of a person by Basic and by token, and the id of a key',
  async (service) => {
    const { createPerson, token, anonymous } = await openPeople(service)
    const ada = await createPerson('ada')
    const getProtected = (version: string, headers: Record<string, string>) =>
      anonymous.get(`/api/${version}/protected`, headers)
    const expected = { status: 'ok', user: String(ada.id) }
    const bearer = bearerOf(await token(emailOf('ada')))
    for (const version of ['v1', 'v2']) {
      for (const headers of [basicOf(emailOf('ada')), bearer]) {
        const { status, body } = await getProtected(version, headers)
        assert.deepEqual([status, body], [200, expected])
      }
      const { body } = await service.get(`/api/${version}/protected`)
      assert.match(body.user, /^key_/)
    }
  },
)
