/**
 * §10.2: a mistake of a value has its pointer, and names the expected form and the type that came,
 * or says that it is empty. It never repeats the value, which may be secret.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { createObjectReader } from '../../src/protocol/fields/reader.ts'
import { kinds } from '../fixtures/every-kind.ts'

/** Values by the words of their types. */
const VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  'an empty string': '',
  'a string': 'kanary',
  'a number': 4_711_471_147,
  'a fraction': 0.4711,
  'a boolean': true,
  'an array': ['kanary'],
  'an object': { kanary: 'kanary' },
}
const EXPECTED =
  /^(?:must (?:be|have) (?:an?|one|at|the|true) |must be a JSON|is not |is required$|has a key )/

test('every kind of field names the expected form and the type of an invalid value', () => {
  for (const [kind, { spec }] of Object.entries(kinds)) {
    for (const nullable of [false, true]) {
      const { default: _, ...rest } = spec
      const read = createObjectReader({ members: { a: { ...rest, nullable } } })
      for (const [type, value] of Object.entries(VALUES)) {
        const { errors } = read({ a: value })
        for (const { pointer = '', code, message } of errors) {
          const at = `${kind} ${type}: ${message}`
          assert.match(pointer, /^\/a(?:\/|$)/, at)
          assert.match(message, EXPECTED, at)
          assert.doesNotMatch(message, /kanary|4711/, at)
          if (pointer !== '/a') continue
          const isOfType = code === 'invalid_type' && !at.includes('other than null')
          if (isOfType || (value === '' && /^invalid_/.test(code))) {
            assert.ok(message.includes(`, not ${type}`), at)
          }
        }
        if (value === null && nullable) assert.deepEqual(errors, [])
      }
      const { errors } = read({})
      const missing = errors.map(({ pointer, code }) => `${pointer} ${code}`)
      assert.deepEqual(missing, spec.write === 'required' ? ['/a required'] : [], kind)
    }
  }
})

const doors = resource('doors', {
  fields: {
    id: f.id(),
    state: f.oneOf(['open', 'shut, locked']),
    more: f.oneOf(['', 'a']).default(''),
  },
  list: { filter: ['state'], sort: [] },
  access: { read: 'd:read', create: 'd:write', update: false, delete: false },
  events: [],
})
const house = service({
  name: 'House',
  versions: { v1: { released: '2026-01-01' } },
  resources: [doors],
})

eachService(
  'an empty text of a set is named in a body and in a filter',
  async (app) => {
    const { body } = await app.post('/api/v1/doors', { state: '', more: 'b' })
    assert.deepEqual(
      body.errors.map(({ pointer, message }: Record<string, string>) => `${pointer} ${message}`),
      [
        '/state must be one of open, "shut, locked", not an empty string',
        '/more must be one of "", a',
      ],
    )
    const list = await app.get('/api/v1/doors?state=')
    assert.equal(list.status, 400)
    assert.match(list.body.errors[0].message, /open, "shut, locked", not an empty string/)
  },
  { service: house },
)
