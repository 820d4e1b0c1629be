/**
 * §15.12: any value of any method of any kind of field is a mistake, or a value with which rows and
 * documents work; none is found by a caller.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'
import { type AnyField, Field } from '../../src/protocol/fields/fields.ts'
import { kinds } from '../fixtures/every-kind.ts'
import { junk } from '../fixtures/junk.ts'

const access = { read: 't:read', create: 't:write', update: false, delete: false } as const
const part = (name: string, fields: Record<string, AnyField>) =>
  resource(name, {
    fields: { id: f.id(), ...fields } as { id: ReturnType<typeof f.id> },
    ...{ list: { filter: [], sort: [] }, access, events: [] },
  })
const declare = (parts: readonly ReturnType<typeof part>[]) =>
  service({
    name: 'Junk',
    versions: { v1: { released: '2026-01-01' } },
    resources: [part('targets', {}), ...parts],
    scopes: ['x:read'],
  })

/** The methods of a field that take a value. A new one is in this list at once. */
const methods = Object.getOwnPropertyNames(Field.prototype).filter(
  (name) => name !== 'constructor' && Field.prototype[name as keyof AnyField].length > 0,
)

/** Returns the field of a kind after a call of a method, which plain JavaScript makes. */
function fieldAfter(kind: AnyField, method: string, value: unknown): AnyField {
  const call = kind[method as 'describe'] as (value: unknown) => AnyField
  const base = method === 'default' ? kind : kind.nullable().default(null)
  return call.call(base, value)
}

/** Returns the fields that a declaration accepts, by kind, method and value. */
function acceptedFields(): [title: string, field: AnyField][] {
  const accepted: [string, AnyField][] = []
  for (const [kind, example] of Object.entries(kinds)) {
    for (const method of methods) {
      for (const [name, value] of junk) {
        const title = `f.${kind}.${method}(${name})`
        try {
          const field = fieldAfter(example, method, value)
          declare([part('things', { it: field })])
          accepted.push([title, field])
        } catch (error) {
          assert.ok(error instanceof DeclarationError, `${title}: ${error}`)
          assert.match(error.message, /^resource things: /, title)
        }
      }
    }
  }
  return accepted
}

/** Fields of one resource. */
const FIELDS_MAX = 50

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`rows and documents work with each accepted value [${kind}]`, async (t) => {
    const accepted = acceptedFields()
    assert.ok(accepted.length > 100)
    const parts = []
    for (let from = 0; from < accepted.length; from += FIELDS_MAX) {
      const name = `things_${from}`
      const fields = accepted
        .slice(from, from + FIELDS_MAX)
        .map(([, field], n) => [`it_${n}`, field] as const)
      parts.push(part(name, Object.fromEntries(fields)))
    }
    const { get, post } = await openService(t, kind, { service: declare(parts) })
    const document = await get('/openapi/v1.json')
    assert.equal(document.status, 200, document.text)
    for (const { definition } of parts) {
      const created = await post(`/api/v1/${definition.name}`, {})
      assert.equal(created.status, 201, `${definition.name}: ${created.text}`)
      const read = await get(`/api/v1/${definition.name}/${created.body.id}`)
      assert.deepEqual(read.body, created.body, definition.name)
    }
  })
}
