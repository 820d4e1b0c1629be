/**
 * §12.1: generators of clients read the documents of any service. Each rule here is a construct
 * that one of them cannot read, or a name that hides another one in the code that they write.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workshop } from '../../../../test/outside/workshop.ts'
import { openService } from '../../../../test/rig/service.ts'
import { hotel } from '../../examples/bookings/service.ts'
import { marketplace } from '../../examples/marketplace/service.ts'
import { api } from '../../service/service.ts'
import type { Service } from '../../src/declare/resources/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { isReservedComponent } from '../../src/protocol/openapi/component-names.ts'
import type { Json } from '../documentation/targets.ts'
import { club } from '../fixtures/club.ts'
import { everyKind } from '../fixtures/every-kind.ts'

const access = { read: 'x:read', create: 'x:write', update: 'x:write', delete: 'x:write' } as const
const collection = (name: string, events: readonly `${string}.created`[] = []) =>
  resource(name, {
    fields: {
      id: f.id(),
      code: f.uuid(),
      status: f.oneOf(['on', 'off']).default('on'),
      extra: f.json().default({}),
      created_at: f.createdAt(),
    },
    list: { filter: ['status', 'created_at'], sort: [] },
    batch: true,
    export: true,
    access,
    events,
  })

/** Collections whose singulars are names of the engine, or types of a language. */
const NAMES = 'errors types objects deliveries events_lists problems options results lists models'
const names = service({
  name: 'Names',
  versions: { v1: { released: '2026-01-01' } },
  resources: [...NAMES.split(' '), 'tax_rates'].map((name) => collection(name)),
}).route({
  method: 'POST',
  path: '/checks',
  scope: 'x:write',
  summary: 'Check something',
  query: { code: f.int().default(3), limit: f.int().default(7) },
  input: { url: f.string(), events: f.array(f.int(), { max: 3 }) },
  output: { status: f.string(), token: f.int() },
  handle: () => ({ body: { status: 'ok', token: 1 } }),
})

const services: Readonly<Record<string, Service>> = {
  reference: api,
  bookings: hotel,
  marketplace,
  workshop,
  club,
  'every kind': everyKind,
  names,
}

interface Site {
  readonly at: string
  readonly node: Json
}

/** Returns every object of a document with its pointer. */
function sitesOf(node: Json, at = '#'): Site[] {
  if (typeof node !== 'object' || node === null) return []
  const inside = Object.entries<Json>(node).flatMap(([name, value]) =>
    name === 'example' || name === 'examples' ? [] : sitesOf(value, `${at}/${name}`),
  )
  return Array.isArray(node) ? inside : [{ at, node }, ...inside]
}

const operationsOf = ({ paths }: Json): [at: string, operation: Json, shared: Json[]][] =>
  Object.entries<Json>(paths).flatMap(([path, { parameters = [], ...methods }]) =>
    Object.entries<Json>(methods).map(
      ([method, operation]) => [`${method} ${path}`, operation, parameters] as const,
    ),
  ) as [string, Json, Json[]][]

const sorted = (values: Iterable<string>) => [...new Set(values)].sort()
const letters = (name: string) => name.replace(/[^a-z0-9]/gi, '').toLowerCase()

/** Names from the registry of formats that OpenAPI 3.1 refers to. */
const FORMATS = new Set(
  [
    'date date-time time-local duration email idn-email',
    'uri uri-reference uuid int64 password regex',
  ].flatMap((words) => words.split(' ')),
)

for (const [title, declared] of Object.entries(services)) {
  test(`documents of ${title} have what generators read`, async (t) => {
    const { get } = await openService(t, 'sqlite', { service: declared })
    const versions = declared.definition.versions
    for (const name of [...versions.map((each) => each.name), 'platform', 'admin']) {
      const document = (await get(`/openapi/${name}.json`)).body
      const { components, webhooks = {} } = document
      const faults: string[] = []
      const expect = (isValid: boolean, fault: string) => {
        if (!isValid) faults.push(fault)
      }
      for (const { at, node } of sitesOf(document)) {
        const { type, format, anyOf } = node
        if (Array.isArray(type)) expect(type.length === 2 && type[1] === 'null', `${at}: types`)
        if (typeof type === 'string' && typeof format === 'string') {
          expect(FORMATS.has(format), `${at}: format ${format}`)
        }
        expect(anyOf === undefined, `${at}: anyOf`)
        const isBounded = ['maxLength', 'enum', 'const'].some((word) => Object.hasOwn(node, word))
        expect(type !== 'string' || isBounded, `${at}: a text without a bound`)
      }
      for (const [at, { requestBody, responses, parameters = [] }] of operationsOf(document)) {
        const statuses = Object.keys(responses)
        expect(!statuses.some((status) => status.endsWith('XX')), `${at}: a range of statuses`)
        const successes = statuses.filter((status) => status.startsWith('2'))
        const bodies = successes.flatMap((status) =>
          Object.entries(responses[status].content ?? {}),
        )
        const shapes = bodies.map(([media, { schema }]: Json) => JSON.stringify([media, schema]))
        expect(new Set(shapes).size <= 1, `${at}: several bodies of a success`)
        const media = Object.values<Json>(requestBody?.content ?? {})
        const isNamed = media.length < 2 || media.every(({ schema }) => schema.$ref)
        expect(isNamed, `${at}: one unnamed schema for two media types`)
        const own = parameters.map((each: Json) => each.name).filter(Boolean)
        expect(new Set(own.map(letters)).size === own.length, `${at}: parameters of one name`)
        for (const { schema = {} } of parameters) {
          expect(![schema.type].flat().includes('null'), `${at}: a parameter that is null`)
        }
      }
      for (const tag of document.tags) expect(tag.description, `the tag ${tag.name}: no words`)
      const schemas = Object.keys(components.schemas)
      expect(new Set(schemas.map(letters)).size === schemas.length, 'components of one name')
      const ids = operationsOf(document).map(([, { operationId }]) => operationId)
      expect(new Set(ids.map(letters)).size === ids.length, 'operations of one name')
      const tagsOf = (items: Json) =>
        sorted(operationsOf({ paths: items }).flatMap(([, { tags = [] }]) => tags.map(letters)))
      const shared = tagsOf(webhooks).filter((tag) => tagsOf(document.paths).includes(tag))
      expect(shared.length === 0, `webhooks share the tag ${shared}`)
      const plain = (await get(`/openapi/${name}.json?webhooks=0`)).body
      assert.equal(plain.webhooks, undefined)
      assert.deepEqual(plain.paths, document.paths)
      for (const kind of Object.keys(components)) {
        const names = Object.keys(components[kind])
        const onlyOfWebhooks = names.filter((each) => !plain.components[kind]?.[each])
        expect(onlyOfWebhooks.length === 0, `webhooks alone use ${onlyOfWebhooks}`)
      }
      assert.deepEqual(faults, [], name)
    }
  })
}

test('no schema of a resource has the name of one of the engine or of a language', async (t) => {
  const { app } = await openService(t, 'sqlite', { service: names })
  const engine = Object.keys((app.openapi('v1') as Json).components.schemas)
  const { app: other } = await openService(t, 'sqlite', { service: marketplace })
  const shared = Object.keys((other.openapi('v1') as Json).components.schemas).filter((name) =>
    engine.includes(name),
  )
  assert.ok(shared.length > 15, String(shared))
  // Bodies are named by operations: no singular ends in `Body`, except by chance.
  const unreserved = shared.filter((name) => !isReservedComponent(name) && !/Body$/.test(name))
  assert.deepEqual(unreserved, [])
  for (const name of ['ErrorRow', 'TypeRow', 'DeliveryRow', 'ErrorRowList', 'TaxRate']) {
    assert.ok(engine.includes(name), name)
  }
})

test('the names of a resource follow from its collection or its singular, not from events', () => {
  const singulars = [
    collection('tax_rates'),
    collection('tax_rates', ['rate.created']),
    resource('tax_rates', {
      singular: 'tax',
      fields: { id: f.id() },
      list: { filter: [], sort: [] },
      access,
      events: [],
    }),
  ].map(({ definition }) => definition.singular)
  assert.deepEqual(singulars, ['tax_rate', 'tax_rate', 'tax'])
  const declare = (singular: string) =>
    resource('rates', {
      singular,
      fields: { id: f.id() },
      list: { filter: [], sort: [] },
      access,
      events: [],
    })
  assert.throws(() => declare('Tax rate'), /resource rates: singular is snake_case/)
})
