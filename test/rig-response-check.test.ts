/** The check of responses in `rig/response-check.ts` finds every difference from a declaration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResponseCheck } from './rig/response-check.ts'

const thing = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' }, size: { type: ['integer', 'null'] } },
}
const documents: Record<string, unknown> = {
  platform: { paths: {} },
  admin: {
    paths: {
      '/admin/things/{id}': {
        get: {
          responses: {
            200: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
            },
          },
        },
        delete: { responses: { 204: { description: '' } } },
      },
    },
    components: { schemas: { Thing: thing } },
  },
}
const check = createResponseCheck({ openapi: (name) => documents[name] })
const reply = (body: unknown, status = 200) => ({
  status,
  type: 'application/json; charset=utf-8',
  text: JSON.stringify(body),
})

test('a response as declared passes, also with links and warnings', () => {
  check('GET', '/admin/things/1?x=2', reply({ id: '1', size: null }))
  check('GET', '/admin/things/1', reply({ id: '1', _links: { self: '/' }, _warnings: [] }))
  check('GET', '/admin/things/1?fields=size', reply({ size: 3 }))
  check('GET', '/admin/things/1', reply({ error: 'not_found' }, 404))
  check('DELETE', '/admin/things/1', { status: 204, type: '', text: '' })
  check('GET', '/undeclared', reply({ any: 'thing' }))
})

test('a missing, undeclared or mistyped member fails, and so does another status', () => {
  for (const body of [{}, { id: 1 }, { id: '1', size: 1.5 }, { id: '1', more: true }]) {
    assert.throws(() => check('GET', '/admin/things/1', reply(body)), assert.AssertionError)
  }
  assert.throws(() => check('GET', '/admin/things/1', reply({ id: '1' }, 201)))
  assert.throws(() => check('DELETE', '/admin/things/1', reply({ id: '1' })))
})
