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
  headers: [],
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
  { ...creation, headers: [['Idempotency-Key', "it's mine"]] },
  { ...creation, path: '/api/v2/class/7', method: 'PATCH', headers: [['If-Match', '"v1"']] },
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

test('headers that a reader fills in are part of each example', () => {
  const headers: ExampleRequest['headers'] = [
    ['If-Match', '"3-a"'],
    ['Idempotency-Key', 'mine'],
  ]
  const change = { ...creation, path: '/api/v2/class/7', method: 'PATCH', body: { a: 1 }, headers }
  const [curl, typescript, python] = codeExamples(BASE, change).map(({ text }) => text)
  assert.match(curl!, /-H 'If-Match: "3-a"' \\\n {2}-H 'Idempotency-Key: mine'/)
  assert.doesNotMatch(curl!, /openssl/)
  const options = `{ idempotencyKey: 'mine', headers: { 'If-Match': '"3-a"' } }`
  assert.ok(typescript!.includes(`.update(7, { a: 1 }, ${options})`), typescript!)
  assert.match(python!, /"If-Match": "\\"3-a\\"",\n\s+"Idempotency-Key": "mine",/)
  assert.doesNotMatch(python!, /uuid/)
  const textOf = (request: ExampleRequest) => codeExamples(BASE, request)[1]!.text
  const action = { ...listing, method: 'POST', query: [], headers }
  const act = textOf({ ...action, path: '/api/v2/class/7/lend' })
  assert.ok(act.includes(`.act(7, 'lend', undefined, ${options})`), act)
  assert.ok(textOf({ ...listing, query: [], headers }).includes(`.list({}, ${options})`))
  const plain = textOf({ ...action, path: '/webhooks', collection: undefined })
  assert.ok(plain.includes(`  idempotencyKey: 'mine',\n  headers: { 'If-Match'`), plain)
  const login = textOf({ ...creation, path: '/auth/logout-all', credential: 'token', headers })
  assert.ok(login.includes(`'Idempotency-Key': 'mine' }`), login)
})
