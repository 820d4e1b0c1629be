/**
 * §8.8: the body of an action changes between versions. A caller sends the shape of its version;
 * `run` has the newest.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf } from '../../src/declare/gate/lock.ts'
import { changelogOf } from '../../src/declare/versions/changelog.ts'
import { secretFieldNames } from '../../src/documents.ts'
import { f, fields, resource, service } from '../../src/gatehook.ts'

const access = { read: 'p:read', create: 'p:write', update: false, delete: false } as const

const base = resource('parcels', {
  fields: { id: f.id(), weight_g: f.int().default(0), day: f.time().nullable().default(null) },
  list: { filter: [], sort: [] },
  access,
  events: ['parcel.created'],
})

const weighing = fields({ weight_g: f.int().min(1), day: f.time().nullable().default(null) })
const inKilograms = {
  why: 'Weights are grams.',
  had: { weight_kg: f.number().min(0.001).secret() },
  hadNot: ['weight_g'],
  up: (old: { weight_kg: number }) => ({ weight_g: Math.floor(old.weight_kg * 1000) }),
} as const

// biome-ignore lint/suspicious/noExplicitAny: the test changes any part of the body
const serviceWith = (input: any) =>
  service({
    name: 'post',
    versions: { v1: { released: '2024-01-01' }, v2: { released: '2025-01-01' } },
    resources: [
      base.action('weigh', {
        scope: 'p:write',
        input,
        run: ({ input: { weight_g, day } }) => ({ weight_g, day }),
      }),
    ],
  })

const office = serviceWith(weighing.before('v2', inKilograms))
const day = '2027-01-01T00:00:00.000Z'

eachService(
  'a caller sends the body of its version, and errors name its members',
  async ({ post, get }) => {
    assert.equal((await post('/api/v2/parcels', {})).status, 201)
    const weigh = (version: string, body: object, query = '') =>
      post(`/api/${version}/parcels/1/weigh${query}`, body)
    const old = await weigh('v1', { weight_kg: 1.5, day })
    assert.deepEqual([old.status, old.body], [200, { id: 1, weight_g: 1500, day }], old.text)
    const now = await weigh('v2', { weight_g: 7 })
    assert.deepEqual([now.status, now.body], [200, { id: 1, weight_g: 7, day: null }])
    for (const [version, body, pointers] of [
      ['v1', { weight_g: 1 }, ['/weight_g', '/weight_kg']],
      ['v1', { weight_kg: 0 }, ['/weight_kg']],
      ['v2', { weight_kg: 1 }, ['/weight_g', '/weight_kg']],
      ['v2', { weight_g: 0 }, ['/weight_g']],
    ] as const) {
      const wrong = await weigh(version, body)
      const names = wrong.body.errors.map((error: { pointer: string }) => error.pointer)
      assert.deepEqual([wrong.status, names.toSorted()], [422, pointers])
    }
    assert.equal((await weigh('v1', { weight_kg: 2 }, '?dry_run=true')).body.weight_g, 2000)
    assert.equal((await get('/api/v2/parcels/1')).body.weight_g, 7)
  },
  { service: office },
)

test('OpenAPI, the gate and the changelog have the body of each version', () => {
  const { definition } = office
  const promises = promisesOf(definition)
  const membersIn = (version: string) => {
    const { components } = promises.get(version)!.document as {
      components: { schemas: Record<string, { properties: object }> }
    }
    return Object.keys(components.schemas.ParcelWeighInput!.properties)
  }
  assert.deepEqual(
    [membersIn('v1'), membersIn('v2')],
    [
      ['weight_kg', 'day'],
      ['weight_g', 'day'],
    ],
  )
  const breaksOf = (declared: typeof office) =>
    check(declared.definition, lockOf(promises)).verdicts.map(({ breaks }) => breaks.length > 0)
  assert.deepEqual(breaksOf(office), [false, false])
  assert.deepEqual(breaksOf(serviceWith(weighing)), [true, false])
  const [newest] = changelogOf(definition)
  assert.deepEqual(
    newest!.changes.map(({ resource: name, why, before, after }) => [name, why, before, after]),
    [['POST /parcels/:id/weigh', 'Weights are grams.', ['weight_kg'], ['weight_g']]],
  )
  const names = secretFieldNames({ service: definition, versions: ['v1', 'v2'] })
  assert.ok(names.has('weight_kg'))
})

test('a change of a body that contradicts itself is a mistake of the declaration', () => {
  const bounded = fields({ weight_g: f.int().min(1).max(5), day: f.time().nullable() })
  const { up: _up, ...withoutUp } = inKilograms
  const wrong: readonly [() => unknown, RegExp][] = [
    [
      () => serviceWith(weighing.before('v2', withoutUp)),
      /resource parcels: \.action\(weigh\): input: \.before\('v2'\): up is required/,
    ],
    [() => serviceWith(weighing.before('v3', inKilograms)), /names a version after the first/],
    [
      () => serviceWith(bounded.before('v2', { ...inKilograms, had: { weight_kg: f.int() } })),
      /input: v1 accepts weight_kg .* but v2 does not: weight_g must be at/,
    ],
    [() => serviceWith(fields({ rows: [base] })), /field rows: is not a field/],
  ]
  for (const [declare, mistake] of wrong) assert.throws(declare, mistake)
})
