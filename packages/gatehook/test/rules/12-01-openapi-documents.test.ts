/**
 * §12.1, §10.2: the documents are OpenAPI 3.1 without lint findings, list every failure code, and
 * match the committed ones.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { failures } from '../../src/kernel/failure.ts'
import { club } from '../fixtures/club.ts'
import { post } from '../fixtures/three-versions.ts'

const rules = {
  'info-license': 'off', // the team chooses it
  'no-server-example.com': 'off',
  'operation-4xx-response': 'error',
  'operation-operationId': 'error',
  'operation-operationId-unique': 'error',
  'operation-parameters-unique': 'error',
  'path-parameters-defined': 'error',
  'no-unused-components': 'error',
  'no-invalid-schema-examples': 'error',
} as const

async function findings(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'], rules: rules as never })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
  )
}

test('the linter reports errors', async () => {
  const wrong = {
    openapi: '3.1.0',
    info: { title: 't', version: '1' },
    paths: { '/a/{id}': { get: {} } },
  }
  assert.ok((await findings(wrong)).length > 3)
})

for (const version of ['v1', 'v2', 'platform', 'admin']) {
  test(`${version} of the reference service is valid and matches the snapshot`, async (t) => {
    const { app } = await openService(t, 'sqlite')
    const document = app.openapi(version)
    assert.deepEqual(await findings(document), [])
    const file = new URL(`../../../../spec/openapi/${version}.json`, import.meta.url)
    const committed = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(committed, JSON.parse(JSON.stringify(document)), 'run `npm run spec`')
  })
}

eachService(
  'old versions have no findings',
  async ({ get }) => {
    for (const version of ['v1', 'v2', 'v3']) {
      const reply = await get(`/openapi/${version}.json`)
      assert.deepEqual(await findings(reply.body), [], version)
    }
  },
  { service: club },
)

eachService('every failure code is in every document', async ({ get }) => {
  const { components } = (await get('/openapi/v2.json')).body
  assert.deepEqual(components.schemas.ErrorCode.enum, Object.keys(failures))
})

eachService('failures link to the pages of the document’s version', async ({ get }) => {
  for (const [name, version] of [
    ['v1', 'v1'],
    ['v2', 'v2'],
    ['admin', 'v2'],
  ] as const) {
    const text = JSON.stringify((await get(`/openapi/${name}.json`)).body)
    const links = new Set(text.match(/\/docs\/v\d+\/errors/g))
    assert.deepEqual([...links], [`/docs/${version}/errors`], name)
  }
})

eachService('the document lists exactly the operations that exist', async ({ app, get }) => {
  const { paths } = (await get('/openapi/v2.json')).body
  for (const [path, item] of Object.entries<Record<string, unknown>>(paths)) {
    const reply = await app.inject({
      method: 'OPTIONS',
      url: path.replace('{id}', '1'),
      headers: { host: 'localhost' },
    })
    const allowed = String(reply.headers.allow)
      .split(/, */)
      .filter((method) => !/HEAD|OPTIONS/.test(method))
    const documented = Object.keys(item)
      .filter((name) => name !== 'parameters')
      .map((name) => name.toUpperCase())
    assert.deepEqual(documented.sort(), allowed.sort(), path)
  }
})

type SchemaNode = Readonly<Record<string, unknown>>
const nodesOf = (value: unknown): [string, SchemaNode][] =>
  Object.entries((value ?? {}) as Record<string, SchemaNode>)

/** Lists the members without words or example, as `Order.amount`. */
function findUndescribed(value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const schema = value as SchemaNode
  const members = nodesOf(schema.properties).flatMap(([name, member]) => {
    const { $ref, description, type } = member
    if ($ref !== undefined) return []
    const hasExample = ['examples', 'example', 'enum', 'const', 'default', 'properties', 'items']
    const isStated = hasExample.some((word) => member[word] !== undefined)
    const isScalar = type !== 'object' && type !== undefined
    const isMissing = description === undefined || (isScalar && !isStated)
    return [...(isMissing ? [`${at}.${name}`] : []), ...findUndescribed(member, `${at}.${name}`)]
  })
  const forms = Array.isArray(schema.oneOf) ? schema.oneOf : []
  const inner = [schema.items, ...forms].flatMap((node) => findUndescribed(node, at))
  return [...members, ...inner]
}

for (const name of ['v1', 'v2', 'platform', 'admin']) {
  test(`every operation and member of ${name} has words and an example`, async (t) => {
    const { app } = await openService(t, 'sqlite')
    // biome-ignore lint/suspicious/noExplicitAny: a document has many shapes
    const { paths, components, webhooks = {} } = app.openapi(name) as any
    const faults = nodesOf(components.schemas).flatMap(([at, node]) => findUndescribed(node, at))
    const operations = [...nodesOf(paths), ...nodesOf(webhooks)].flatMap(([path, item]) =>
      nodesOf(item)
        .filter(([method]) => method !== 'parameters')
        .map(([method, node]) => [`${method} ${path}`, node] as const),
    )
    for (const [at, operation] of operations) {
      if (!operation.summary || !operation.description) faults.push(at)
      // biome-ignore lint/suspicious/noExplicitAny: a document has many shapes
      const { requestBody, responses } = operation as any
      const media = [requestBody, ...Object.values(responses)].flatMap((part: SchemaNode) =>
        nodesOf(part?.content),
      )
      for (const [type, { schema, example }] of media) {
        faults.push(...findUndescribed(schema, at))
        if (/json/.test(type) && example === undefined) faults.push(`${at}: ${type}`)
      }
    }
    assert.deepEqual(faults, [], '.describe() and .example(), or protocol/openapi/member-words.ts')
  })
}

test('members that share a schema have words of their own', async (t) => {
  const { app } = await openService(t, 'sqlite')
  // biome-ignore lint/suspicious/noExplicitAny: a document has many shapes
  const { components } = app.openapi('v1') as any
  const { message, request_id: requestId } = components.schemas.ErrorBody.properties
  assert.match(requestId.description, /id of the request/)
  assert.notEqual(message.description, requestId.description)
})

test('each event type is a webhook with a payload in the shape of the version', async (t) => {
  const { app } = await openService(t, 'sqlite', { service: post })
  for (const [version, member] of [
    ['v1', 'mail'],
    ['v3', 'email'],
  ] as const) {
    // biome-ignore lint/suspicious/noExplicitAny: a document has many shapes
    const { webhooks } = app.openapi(version) as any
    const { example } = webhooks['client.created'].post.requestBody.content['application/json']
    assert.ok(member in example.data.object, JSON.stringify(example))
    assert.ok('webhook.disabled' in webhooks)
  }
})
