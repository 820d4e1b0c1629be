/** §2.2: a sample row that a client could not send is a mistake of the declaration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { findScopeWarnings } from '../../src/declare/resources/scopes.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const fields = {
  id: f.id(),
  name: f.string().max(20),
  email: f.email().unique().default('a@example.com'),
  price: f.decimal(8, 2).default('1.00'),
  at: f.time().nullable(),
}
const access = { read: 'notes:read', create: 'notes:write', update: 'w', delete: 'w' } as const
const versions = { v1: { released: '2026-01-01' } }

function declare(sample: (n: number) => object) {
  const options = { fields, access, list: { filter: [], sort: [] }, events: [] }
  const notes = resource('notes', options).sample(sample as () => { name: string })
  return service({ name: 'Notes', versions, resources: [notes] })
}

test('each mistake in a sample names the resource and the field', () => {
  const mistakes: readonly [object, RegExp][] = [
    [{ nam: 'A' }, /nam\b/],
    [{ name: 1 }, /name/],
    [{ name: 'A'.repeat(21) }, /name/],
    [{ name: null }, /name/],
    [{ email: 'agent0' }, /email/],
    [{ price: 20 }, /price/],
    [{ at: 'tomorrow' }, /at /],
  ]
  for (const [row, field] of mistakes) {
    assert.throws(
      () => declare(() => row),
      (error: Error) => {
        assert.equal(error.constructor.name, 'DeclarationError', String(error.stack))
        assert.match(error.message, /notes.*\.sample\(0\)/)
        assert.match(error.message, field)
        return true
      },
      String(field),
    )
  }
  declare((n) => ({ name: `Note ${n}`, price: '20.00', at: 1_800_000_000_000 }))
})

test('a sample row that the service refuses names the resource and the row', async (t) => {
  const twice = declare(() => ({ name: 'Same', email: 'same@example.com' }))
  const url = await freshUrl(t, 'sqlite')
  const start = openService(t, 'sqlite', { service: twice, url, seed: true, log: quietLog })
  await assert.rejects(start, /resource notes: the row of \.sample\(1\): email: is taken/)
})

test('a scope that resembles one of a resource is a warning', () => {
  const declared = declare(() => ({ name: 'A' }))
  const withScope = (scope: string) =>
    declared.route({ method: 'GET', path: '/count', scope, summary: 'Count', handle: () => ({}) })
  assert.deepEqual(findScopeWarnings(declared.definition), [])
  assert.deepEqual(findScopeWarnings(withScope('note:read').definition), [
    'route GET /count: no resource has the scope note:read. Did you mean notes:read?',
  ])
  const { definition } = resource('tasks', {
    fields: { id: f.id(), name: f.string() },
    list: { filter: [], sort: [] },
    access: { read: 'tasks:read', create: 'tasks:write', update: false, delete: false },
    events: [],
  })
    .action('close', { scope: 'tasks:wirte' })
    .action('pay', { scope: 'payments:write' })
    .action('open', { scope: 'tasks:write' })
  const service = { resources: [definition], routes: [], externalEvents: [] }
  const [warning, ...others] = findScopeWarnings(service)
  assert.match(warning!, /^resource tasks: \.action\('close'\): .* Did you mean tasks:write\?$/)
  assert.deepEqual(others, [])
  assert.deepEqual(findScopeWarnings({ ...service, scopes: ['tasks:wirte'] }), [])
})
