/** The gate compares real documents: a table of changes, and every keyword that is generated. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Edit } from '../../../test/gate/mutation.ts'
import { operationMutations } from '../../../test/gate/operation-mutations.ts'
import { schemaMutations } from '../../../test/gate/schema-mutations.ts'
import { promisesOf } from '../../cli/check.ts'
import { f } from '../../protocol/fields/f.ts'
import { escapePointer } from '../../protocol/fields/reading.ts'
import { resource } from '../resources/resource.ts'
import { service } from '../resources/service.ts'
import { diffDocuments } from './document-diff.ts'
import { lockOf } from './lock.ts'

type Json = Record<string, unknown>

const mutations = [...operationMutations, ...schemaMutations]

const lockText = readFileSync(new URL('../../../service/api.lock.json', import.meta.url), 'utf8')
const referenceText = JSON.stringify(JSON.parse(lockText).versions.v2.document)

/** Returns an edited copy. An edit that has no target is a mistake in the table. */
function edited(document: Json, edits: readonly Edit[]): Json {
  const copy = structuredClone(document)
  for (const edit of edits) {
    const parts = edit[0]
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = parts.pop()!
    const holder = parts.reduce((node, part) => node?.[part] as Json, copy)
    assert.ok(holder, `${edit[0]} has no parent`)
    if (edit.length === 2) holder[last] = edit[1]
    else {
      assert.ok(last in holder, `${edit[0]} does not exist`)
      if (Array.isArray(holder)) holder.splice(Number(last), 1)
      else delete holder[last]
    }
  }
  return copy
}

test('a document without changes has no findings', () => {
  assert.deepEqual(diffDocuments(JSON.parse(referenceText), JSON.parse(referenceText)), [])
})

test(`the gate classifies ${mutations.length} changes of a document`, async (t) => {
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length)
  for (const { name, first = [], edit, verdict, says } of mutations) {
    await t.test(name, () => {
      const old = edited(JSON.parse(referenceText), first)
      const findings = diffDocuments(old, edited(old, edit))
      const sentences = findings.map(({ sentence }) => sentence).join('\n')
      const actual = findings.length === 0 ? 'same' : findings[0]!.breaking ? 'break' : 'addition'
      assert.equal(actual, verdict, sentences)
      if (says !== undefined) assert.ok(sentences.includes(says), sentences)
      for (const { sentence, where, operations } of findings) {
        assert.match(sentence, /^[A-Z"].*\.$/s)
        assert.match(where, /^#\//)
        assert.ok(operations.length > 0)
      }
    })
  }
})

test('a filter with its operators is one finding', () => {
  const old = JSON.parse(referenceText)
  const now = structuredClone(old)
  const { get } = now.paths['/api/v2/orders']
  get.parameters = get.parameters.filter(({ name = '' }) => !/^amount\b/.test(name))
  const sentence = 'The query parameter "amount" of GET /api/v2/orders is'
  assert.deepEqual(
    [...diffDocuments(old, now), ...diffDocuments(now, old)].map((finding) => finding.sentence),
    [`${sentence} removed: requests that send it are rejected.`, `${sentence} new and optional.`],
  )
})

test('a change of a component is one finding, with all operations that use it', () => {
  const old = JSON.parse(referenceText)
  const findings = diffDocuments(old, edited(old, [['/components/schemas/User/properties/name']]))
  assert.deepEqual(findings, [
    {
      breaking: true,
      where: '#/components/schemas/User/properties/name',
      sentence: '"name" of User is removed from responses: callers that read it find no value.',
      promised: '{"maxLength":200,"minLength":1,"type":"string"}',
      declared: 'nothing',
      operations: [
        'GET /api/v2/users',
        'POST /api/v2/users',
        'GET /api/v2/users/{id}',
        'PATCH /api/v2/users/{id}',
      ],
    },
  ])
})

/** Every kind of field, every clause of a declaration that reaches the document. */
const everything = service({
  name: 'everything',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('things', {
      fields: {
        id: f.id(),
        parent: f.ref('things').nullable().default(null),
        text: f.string().min(1).max(20),
        mail: f.email(),
        link: f.url(),
        currency: f.currency().default('EUR'),
        status: f.oneOf(['a', 'b']).readonly().default('a'),
        size: f.oneOf(['s', 'l']).nullable().default(null),
        count: f.int().min(1).max(9),
        share: f.number().min(0).max(1),
        flag: f.bool().default(false),
        at: f.time(),
        secret: f.string().default('').visible('secrets:read').writable('secrets:write'),
        code: f.string().default('').writeOnly(),
        created_at: f.createdAt(),
      },
      list: { filter: ['text', 'count', 'flag', 'size', 'at'], sort: ['id', 'text'] },
      access: {
        read: 'public',
        create: 'things:write',
        update: 'things:write',
        delete: 'things:write',
      },
      events: ['thing.created'],
    }),
  ],
}).route({
  method: 'PUT',
  path: '/reports/:day',
  scope: 'reports:write',
  summary: 'Writes a report',
  query: { size: f.int().default(3) },
  input: { text: f.string() },
  output: { count: f.int().max(9), lines: [f.string()] },
  handle: () => ({ body: { count: 1, lines: [] } }),
}).definition

/** A different value for each keyword; undefined where it cannot change by itself. */
const changedValue: Readonly<Record<string, (value: never) => unknown>> = {
  $ref: () => '#/components/schemas/Different',
  additionalProperties: (value: unknown) => value === false,
  default: () => 'different',
  enum: (value: unknown[]) => value.slice(1),
  format: () => 'different',
  items: () => ({ type: 'different' }),
  maxItems: (value: number) => value - 1,
  maxLength: (value: number) => value - 1,
  maximum: (value: number) => value - 1,
  minItems: (value: number) => value + 1,
  minLength: (value: number) => value + 1,
  minimum: (value: number) => value + 1,
  oneOf: (value: unknown[]) => value.slice(1),
  pattern: () => '^different$',
  properties: (value: Json) => {
    const entries = Object.entries(value)
    return entries.length > 0 ? Object.fromEntries(entries.slice(1)) : undefined
  },
  required: (value: unknown[]) => (value.length > 0 ? value.slice(1) : undefined),
  title: () => 'different',
  type: () => 'different',
  'x-read-scope': () => 'different:read',
  'x-write-scope': () => 'different:write',
  'x-default': () => 'different',
}

/** They change nothing that callers depend on. */
const ANNOTATIONS = ['description', 'readOnly', 'writeOnly', 'x-open-set']

interface KeywordUse {
  readonly pointer: string
  readonly keyword: string
  readonly value: unknown
}

/** Finds every keyword of every schema in a promised document. */
function keywordUses(node: unknown, pointer = '', isSchema = false): KeywordUse[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => {
    const at = `${pointer}/${escapePointer(name)}`
    if (!isSchema) {
      if (name !== 'schemas') return keywordUses(value, at, name === 'schema')
      return Object.entries(value as Json).flatMap(([component, schema]) =>
        keywordUses(schema, `${at}/${component}`, true),
      )
    }
    const inner =
      name === 'properties' || name === 'oneOf'
        ? Object.entries(value as Json).flatMap(([key, schema]) =>
            keywordUses(schema, `${at}/${escapePointer(key)}`, true),
          )
        : name === 'items' || name === 'additionalProperties'
          ? keywordUses(value, at, true)
          : []
    return [{ pointer: at, keyword: name, value }, ...inner]
  })
}

const PER_KEYWORD = 12

test('the gate compares every schema keyword that the generator emits', () => {
  const { document } = lockOf(promisesOf(everything)).versions.v1!
  const different = { '/components/schemas/Different': { type: 'different' } }
  const old = edited(document as Json, Object.entries(different))
  const uses = keywordUses(document)
  const emitted = [...new Set(uses.map(({ keyword }) => keyword))].sort()
  assert.deepEqual(
    emitted,
    [...Object.keys(changedValue), ...ANNOTATIONS].sort().filter((word) => word !== 'description'),
  )
  for (const [keyword, changed] of Object.entries(changedValue)) {
    // The default of a row is that of the request which creates it.
    const sites = uses.filter(
      (use) =>
        use.keyword === keyword &&
        changed(use.value as never) !== undefined &&
        !(keyword === 'default' && use.pointer.startsWith('/components/schemas/Thing/')),
    )
    assert.ok(sites.length > 0, keyword)
    const step = Math.ceil(sites.length / PER_KEYWORD)
    for (const { pointer, value } of sites.filter((_site, n) => n % step === 0)) {
      const now = edited(old, [[pointer, changed(value as never)]])
      assert.ok(diffDocuments(old, now).length > 0, `${pointer} may change unnoticed`)
    }
  }
})

/** The members that the gate compares, by kind of object. */
const comparedMembers: Readonly<Record<string, readonly string[]>> = {
  document: ['components', 'openapi', 'paths', 'security'],
  pathItem: ['delete', 'get', 'parameters', 'patch', 'post', 'put'],
  // The names in `x-fields` are those of the row.
  operation: [
    ...['parameters', 'requestBody', 'responses', 'security'],
    ...['x-scope', 'x-exports', 'x-fields'],
  ],
  parameter: ['explode', 'in', 'name', 'required', 'schema', 'style'],
  requestBody: ['content', 'required'],
  response: ['content', 'headers'],
  mediaType: ['schema'],
  securityScheme: ['in', 'name', 'scheme', 'type'],
}

const valuesOf = (node: unknown): Json[] => Object.values((node ?? {}) as Record<string, Json>)

test('the gate compares every member of an operation that the generator emits', () => {
  const { document } = lockOf(promisesOf(everything)).versions.v1!
  const components = document.components as Record<string, Json>
  const pathItems = valuesOf(document.paths)
  const operations = pathItems.flatMap(({ parameters: _parameters, ...methods }) =>
    valuesOf(methods),
  )
  const inline = (nodes: readonly Json[]) => nodes.filter((node) => node.$ref === undefined)
  const parameters = [...pathItems, ...operations].flatMap((node) => valuesOf(node.parameters))
  const requestBodies = operations.flatMap(({ requestBody }): Json[] =>
    requestBody === undefined ? [] : [requestBody as Json],
  )
  const responses = [
    ...operations.flatMap((node) => valuesOf(node.responses)),
    ...valuesOf(components.responses),
  ]
  const emitted: Readonly<Record<string, readonly Json[]>> = {
    document: [document as Json],
    pathItem: pathItems,
    operation: operations,
    parameter: inline([...parameters, ...valuesOf(components.parameters)]),
    requestBody: requestBodies,
    response: inline(responses),
    mediaType: [...requestBodies, ...responses].flatMap((node) => valuesOf(node.content)),
    securityScheme: valuesOf(components.securitySchemes),
  }
  for (const [kind, nodes] of Object.entries(emitted)) {
    assert.ok(nodes.length > 0, kind)
    const members = new Set(nodes.flatMap((node) => Object.keys(node)))
    const ignored = [...members].filter((member) => !comparedMembers[kind]!.includes(member))
    assert.deepEqual(ignored, [], `the gate ignores members of a ${kind}`)
  }
})
