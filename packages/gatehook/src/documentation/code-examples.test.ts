import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeExamples, type ExampleRequest, exampleScript } from './code-examples.ts'

const BASE = 'http://127.0.0.1'
const listing: ExampleRequest = {
  method: 'GET',
  path: '/api/v2/class',
  query: [
    ['sort', '-id'],
    ['q', "it's"],
  ],
  body: undefined,
  collection: 'class',
  isRepeatable: false,
  credential: 'key',
  hasAnswer: true,
  isForm: false,
}
const creation: ExampleRequest = {
  ...listing,
  method: 'POST',
  query: [],
  body: { title: 'A "B"', tags: ['x', null], long: 'word '.repeat(20) },
  isRepeatable: true,
}
const REQUESTS: readonly ExampleRequest[] = [
  listing,
  creation,
  { ...listing, path: '/api/v2/class/7/lend', method: 'POST', query: [] },
  { ...creation, path: '/api/v2/class/7', method: 'PATCH', credential: 'token' },
  { ...listing, path: '/webhooks', collection: undefined, credential: 'none' },
  { ...creation, path: '/auth/login', isForm: true, body: { a: 'b' } },
]

test('the script of the docs writes the same examples as the server', () => {
  const inScript = new Function(
    'base',
    'request',
    `${exampleScript()}return codeExamples(base, request)`,
  )
  for (const request of REQUESTS) {
    assert.deepEqual(inScript(BASE, request), codeExamples(BASE, request), request.path)
  }
})
