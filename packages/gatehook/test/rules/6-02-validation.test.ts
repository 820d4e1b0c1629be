/** §6.2, §10.2: an invalid body is 422 with all errors, each with its pointer. */
import assert from 'node:assert/strict'
import { eachService, type Reply } from '../../../../test/rig/service.ts'

const mistakes = ({ body }: Reply) =>
  Object.fromEntries(
    body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
  )

const bodies: [body: unknown, expected: Record<string, string>][] = [
  [{}, { '/user_id': 'required', '/amount': 'required' }],
  [
    { user_id: 'x', amount: 0, currency: 'EURO' },
    { '/user_id': 'invalid_type', '/amount': 'too_small', '/currency': 'invalid_value' },
  ],
  [{ user_id: 1, amount: 1.5 }, { '/amount': 'invalid_type' }],
  [{ user_id: 1, amount: '5' }, { '/amount': 'invalid_type' }],
  [{ user_id: 1, amount: 5, currency: 7 }, { '/currency': 'invalid_type' }],
  [{ user_id: 1, amount: 5, note: 'x'.repeat(501) }, { '/note': 'too_long' }],
  [
    { user_id: 1, amount: 5, status: 'paid', id: 3 },
    { '/status': 'read_only', '/id': 'read_only' },
  ],
  [{ user_id: 1, amount: 5, 'a/b~c': 1 }, { '/a~1b~0c': 'unknown_field' }],
  [[], { '': 'invalid_type' }],
  [null, { '': 'invalid_type' }],
  ['"text"', { '': 'invalid_type' }],
]

eachService('all errors are reported, and no row or event is stored', async ({ post, get }) => {
  for (const [body, expected] of bodies) {
    const refused = await post('/api/v2/orders', body === null ? 'null' : body)
    assert.equal(refused.status, 422, JSON.stringify(body))
    assert.equal(refused.body.error, 'validation_failed')
    assert.deepEqual(mistakes(refused), expected)
  }
  assert.equal((await get('/api/v2/orders?pagination=page')).body.total, 0)
  assert.deepEqual((await get('/events')).body.data, [])
})

eachService('lengths are in characters', async ({ post }) => {
  const name = '😀'.repeat(200)
  assert.equal((await post('/api/v2/users', { name, email: 'a@example.com' })).body.name, name)
  const longer = await post('/api/v2/users', { name: `${name}x`, email: 'b@example.com' })
  assert.deepEqual(mistakes(longer), { '/name': 'too_long' })
})

eachService('a body with a thousand errors gets fifty of them', async ({ post }) => {
  const body = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`x${n}`, n]))
  assert.equal((await post('/api/v2/users', body)).body.errors.length, 50)
})

eachService('members that responses add are ignored in bodies', async ({ post, patch }) => {
  const sent = { name: 'Ada', email: 'ada@example.com', _links: { self: '/x' }, _warnings: [] }
  const createReply = await post('/api/v2/users', sent)
  assert.equal(createReply.status, 201)
  assert.equal(
    (await patch(createReply.headers.location!, { _links: {}, name: 'A' })).body.name,
    'A',
  )
})
