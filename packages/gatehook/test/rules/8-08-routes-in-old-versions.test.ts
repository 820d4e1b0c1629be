/**
 * §8.08: the query, the input and the output of an own route change between versions. A caller
 * sends and reads the shape of its version; the handler has the newest.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { check, promisesOf } from '../../src/cli/check.ts'
import { lockOf } from '../../src/declare/gate/lock.ts'
import { changelogOf } from '../../src/declare/versions/changelog.ts'
import { Failure, f, fields, resource, service } from '../../src/gatehook.ts'

const access = { read: 'p:read', create: 'p:write', update: false, delete: false } as const

const parcels = resource('parcels', {
  fields: { id: f.id(), weight_g: f.int().min(1).max(50_000), email: f.email().unique() },
  list: { filter: [], sort: [] },
  access,
  events: [],
}).before('v2', {
  why: 'Weights are grams.',
  had: { weight_kg: f.number().min(0.001).max(50), mail: f.email() },
  hadNot: ['weight_g', 'email'],
  up: (old) => ({ weight_g: Math.round(old.weight_kg * 1000), email: old.mail }),
  down: (row) => ({ weight_kg: row.weight_g / 1000, mail: row.email }),
  renamed: { mail: 'email' },
})

const quoteInput = fields({
  weight_g: f.int().min(1),
  fast: f.bool().default(false),
  day: f.time(),
})
  .before('v3', {
    why: 'Fast is a boolean.',
    had: { speed: f.oneOf(['slow', 'fast']).default('slow') },
    hadNot: ['fast'],
    up: (old) => ({ fast: old.speed === 'fast' }),
  })
  .before('v2', {
    why: 'Weights are grams.',
    had: { weight_kg: f.number().min(0.001) },
    hadNot: ['weight_g'],
    up: (old) => ({ weight_g: Math.round(old.weight_kg * 1000) }),
  })

const quoteOutput = fields({ cents: f.int(), parcels: [parcels], note: f.string() }).before('v2', {
  why: 'Prices are cents.',
  had: { euros: f.number(), items: [parcels] },
  hadNot: ['cents', 'parcels'],
  down: (body) => ({ euros: body.cents / 100, items: body.parcels }),
})

const office = service({
  name: 'post',
  versions: {
    v1: { released: '2024-01-01' },
    v2: { released: '2025-01-01' },
    v3: { released: '2026-01-01' },
  },
  resources: [parcels],
})
  .route({
    method: 'POST',
    path: '/quotes',
    scope: 'p:write',
    summary: 'Quotes a price.',
    query: fields({ per_page: f.int().min(1).default(5) }).before('v2', {
      why: 'The size of a page has its usual name.',
      had: { size: f.int().min(1).default(5) },
      hadNot: ['per_page'],
      up: (old) => ({ per_page: old.size }),
    }),
    input: quoteInput,
    output: quoteOutput,
    failures: ['conflict'],
    async handle({ input, query, write }) {
      const { weight_g, fast, day } = input
      if (weight_g > 50_000) {
        const errors = [{ pointer: '/weight_g', code: 'conflict' as const, message: 'is too much' }]
        throw new Failure('conflict', 'weight_g: is too much', { errors })
      }
      const email = `${weight_g}@example.com`
      const parcel = await write((tx) => tx.create(parcels, { weight_g, email }))
      const cents = weight_g + (fast ? 1 : 0)
      return { body: { cents, parcels: [parcel], note: `${query.per_page} ${day}` } }
    },
  })
  .route({
    method: 'POST',
    path: '/deposits',
    scope: 'p:write',
    summary: 'Deposits a parcel.',
    input: parcels,
    output: parcels,
    status: 201,
    handle: async ({ input, write }) => ({ body: await write((tx) => tx.create(parcels, input)) }),
  })

const OFFICE = { service: office }
const day = '1970-01-01T00:00:01.000Z'

eachService(
  'a caller sends and reads the shape of its version',
  async ({ post }) => {
    const quote = (version: string, query: string, body: object) =>
      post(`/api/${version}/quotes${query}`, body)
    const old = await quote('v1', '?size=7', { weight_kg: 1.5, speed: 'fast', day })
    assert.equal(old.status, 200, old.text)
    const item = { id: 1, weight_kg: 1.5, mail: '1500@example.com' }
    assert.deepEqual(old.body, { euros: 15.01, items: [item], note: '7 1000' })
    const middle = await quote('v2', '', { weight_g: 2, day })
    const row = { id: 2, weight_g: 2, email: '2@example.com' }
    assert.deepEqual(middle.body, { cents: 2, parcels: [row], note: '5 1000' })
    const now = await quote('v3', '?per_page=1', { weight_g: 3, fast: true, day })
    assert.deepEqual([now.body.cents, now.body.note], [4, '1 1000'])

    for (const [version, query, body, code, pointer] of [
      ['v1', '', { weight_g: 1, day }, 422, '/weight_kg /weight_g'],
      ['v1', '', { weight_kg: 0, day }, 422, '/weight_kg'],
      ['v1', '', { weight_kg: 'x', speed: 'x', day }, 422, '/weight_kg /speed'],
      ['v1', '', { weight_kg: 99, day }, 409, '/weight_kg'],
      ['v2', '', { weight_g: 1, fast: true, day }, 422, '/fast'],
      ['v3', '', { weight_g: 1, speed: 'fast', day }, 422, '/speed'],
    ] as const) {
      const wrong = await quote(version, query, body)
      const pointers = wrong.body.errors.map((error: { pointer: string }) => error.pointer)
      assert.deepEqual([wrong.status, pointers.toSorted()], [code, pointer.split(' ').toSorted()])
    }
    const body = { weight_kg: 1, day }
    for (const [version, query] of [
      ['v1', '?per_page=1'],
      ['v3', '?size=1'],
      ['v1', '?size=0'],
    ] as const) {
      const { status } = await quote(version, query, body)
      assert.equal(status, 400)
    }
  },
  OFFICE,
)

eachService(
  'a resource as input has the shape of each version',
  async ({ post }) => {
    const deposit = (version: string, body: object) => post(`/api/${version}/deposits`, body)
    const old = await deposit('v1', { weight_kg: 0.5, mail: 'a@example.com' })
    assert.deepEqual(
      [old.status, old.body],
      [201, { id: 1, weight_kg: 0.5, mail: 'a@example.com' }],
    )
    const pointerOf = async (version: string, body: object) => {
      const reply = await deposit(version, body)
      return [reply.status, reply.body.errors[0].pointer]
    }
    const same = { weight_kg: 1, mail: 'a@example.com' }
    assert.deepEqual(await pointerOf('v1', same), [409, '/mail'])
    assert.deepEqual(await pointerOf('v1', { ...same, weight_kg: 51 }), [422, '/weight_kg'])
    assert.deepEqual(await pointerOf('v2', { weight_g: 0, email: 'b@example.com' }), [
      422,
      '/weight_g',
    ])
  },
  OFFICE,
)

test('OpenAPI and the gate have the members of each version', () => {
  const { definition } = office
  const promises = promisesOf(definition)
  const operation = (version: string) => {
    const { paths } = promises.get(version)!.document as { paths: Record<string, Operations> }
    return paths[`/api/${version}/quotes`]!.post!
  }
  const membersOf = (version: string) => {
    const { requestBody, responses, parameters } = operation(version)
    const schemas = [requestBody, responses[200]!].map((part) => part.content['application/json'])
    return [
      ...schemas.map(({ schema }) => Object.keys(schema.properties)),
      parameters.flatMap(({ name }) => name ?? []),
    ]
  }
  assert.deepEqual(membersOf('v1'), [
    ['weight_kg', 'speed', 'day'],
    ['euros', 'items', 'note'],
    ['size'],
  ])
  assert.deepEqual(membersOf('v2')[0], ['weight_g', 'speed', 'day'])
  assert.deepEqual(membersOf('v3'), [
    ['weight_g', 'fast', 'day'],
    ['cents', 'parcels', 'note'],
    ['per_page'],
  ])
  const [route] = definition.routes
  const newest = { ...route!, input: fields({ grams: f.int(), day: f.time() }) }
  const changed = { ...definition, routes: [newest, ...definition.routes.slice(1)] }
  const { verdicts } = check(changed, lockOf(promises))
  assert.deepEqual(
    verdicts.map(({ breaks }) => breaks.length > 0),
    [true, true, true],
  )
  assert.deepEqual(
    check(definition, lockOf(promises)).verdicts.flatMap(({ breaks }) => breaks),
    [],
  )
})

interface Operations {
  readonly post?: {
    readonly requestBody: JsonContent
    readonly responses: Readonly<Record<number, JsonContent>>
    readonly parameters: readonly { readonly name?: string }[]
  }
}
interface JsonContent {
  readonly content: {
    readonly 'application/json': { readonly schema: { readonly properties: object } }
  }
}

test('the changelog has the changes of routes', () => {
  const [newest, second] = changelogOf(office.definition)
  assert.deepEqual(
    newest!.changes.map(({ resource, why }) => [resource, why]),
    [['POST /quotes', 'Fast is a boolean.']],
  )
  assert.deepEqual(
    second!.changes.map(({ resource }) => resource),
    ['parcels', 'POST /quotes', 'POST /quotes', 'POST /quotes'],
  )
})

test('a change that contradicts itself is a mistake of the declaration', () => {
  const why = 'x'
  const number = { had: { b: f.int() }, hadNot: ['a'], why }
  const a = () => fields({ a: f.int().max(5) })
  const up = (old: object) => ({ a: (old as { b: number }).b })
  const wrong: readonly [object, RegExp][] = [
    [{ input: a().before('v2', { ...number, hadNot: ['a'] }) }, /input: .*up is required/],
    [{ output: a().before('v2', { ...number, hadNot: ['a'] }) }, /output: .*down is required/],
    [{ input: a().before('v9', { ...number, hadNot: ['a'], up }) }, /names a version after/],
    [{ input: a().before('v2', { ...number, hadNot: ['c' as 'a'], up }) }, /there was no field c/],
    [
      { input: a().before('v2', { ...number, hadNot: ['a'], up }) },
      /input: v1 accepts b 1000000000000, but v3 does not: a must be at most 5/,
    ],
    [
      {
        output: a().before('v2', {
          why,
          had: { b: f.int().max(4) },
          hadNot: ['a'],
          down: (body) => ({ b: body.a }),
        }),
      },
      /output: v1 would show b as 5, but b must be at most 4/,
    ],
    [
      { input: a().before('v2', { ...number, hadNot: ['a'], up: () => assert.fail('no') }) },
      /up\(\) throws: no/,
    ],
    [{ input: fields({ rows: [parcels] }) }, /rows is not a field/],
    [
      {
        input: resource('others', {
          fields: { id: f.id() },
          list: { filter: [], sort: [] },
          access,
          events: [],
        }),
      },
      /input: others is not the resource of that name/,
    ],
  ]
  const base = { method: 'POST', path: '/x', scope: 's', summary: 's', handle: () => ({}) }
  for (const [more, mistake] of wrong) {
    assert.throws(() => office.route({ ...base, ...more } as never), mistake)
  }
  assert.throws(() => a().before('v2', { why: '', had: 1, hadNot: 1, up: 1 } as never), {
    message: [
      'why is required, for the changelog',
      'had is an object of fields',
      'hadNot is an array of names',
      'up is a function',
    ]
      .map((mistake) => `.before('v2'): ${mistake}`)
      .join('\n'),
  })
  assert.throws(() => fields({ a: 'text' } as never), /fields\(\): a is a field, a resource/)
})
