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

for (const version of ['v1', 'v2']) {
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
  assert.deepEqual(components.schemas.Error.properties.error.enum, Object.keys(failures))
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
