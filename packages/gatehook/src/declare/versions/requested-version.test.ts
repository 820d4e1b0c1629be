import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from '../../kernel/failure.ts'
import { Query } from '../../protocol/http/query.ts'
import { createVersionReader, type VersionedCall } from './requested-version.ts'

const versions = [
  { name: 'v1', released: '2025-06-01' },
  { name: 'v2', released: '2026-06-01' },
]
const reader = createVersionReader(versions, 'acme')

const call = (more: Partial<VersionedCall> = {}, search = ''): VersionedCall => ({
  versionSegment: undefined,
  headers: {},
  operation: undefined,
  query: Query.parse(search),
  ...more,
})

test('a request without a version names none', () => {
  assert.equal(reader.versionOf(call()), undefined)
  assert.equal(reader.versionOf(call({}, 'limit=1&api_key=v2')), undefined)
  const headers = { accept: 'text/html, */*;q=0.1', 'content-type': 'application/json' }
  assert.equal(reader.versionOf(call({ headers })), undefined)
})

test('the media type of a body counts only if the operation reads a body', () => {
  const headers = { 'content-type': 'application/vnd.acme.api.v2+json; charset=utf-8' }
  const operation = { body: 'required', handle: () => ({ status: 200 }) } as const
  assert.equal(reader.versionOf(call({ headers, operation })), 'v2')
  assert.equal(reader.versionOf(call({ headers })), undefined)
})

test('any request yields a declared version, none, or a Failure', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('v1', '2', 'v9', '2025-06-01', 'v1,v1', ''))
  const type = text.map((word) => `application/vnd.acme.api.${word}+json`)
  const header = fc.option(fc.oneof(text, type), { nil: undefined })
  const any = fc.record({ segment: fc.option(text, { nil: undefined }), x: header, a: header })
  fc.assert(
    fc.property(any, fc.array(text), ({ segment, x, a }, values) => {
      const query = new Query(values.map((value) => ['version', value] as const))
      const headers = {
        ...(x !== undefined && { 'x-api-version': x }),
        ...(a !== undefined && { accept: a }),
      }
      try {
        const version = reader.versionOf({ ...call({ versionSegment: segment, headers }), query })
        assert.ok([undefined, 'v1', 'v2'].includes(version))
      } catch (error) {
        assert.ok(error instanceof Failure)
      }
    }),
  )
})
