/** The text of a first start: links, test key, a curl line for any width. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalLine } from './terminal-log.ts'
import { type Welcome, welcomeText } from './welcome.ts'

const first: Welcome = {
  version: '0.1.0',
  url: 'http://127.0.0.1:8787',
  database: 'sqlite:./data/gatehook.db',
  versions: ['v2', 'v1'],
  collection: 'notes',
  scope: 'notes:read',
  startedMs: 120,
  isReference: true,
  testKey: `gk_test_${'x'.repeat(38)}`,
  consolePath: '/console#token=abc',
  columns: 80,
}

const plain = (at: Welcome) => welcomeText(at).replace(/\x1b\[[0-9;]*m/g, '')

test('the first start prints links, the test key and a request with it', () => {
  const text = plain(first)
  for (const link of [
    '/',
    '/docs',
    '/console#token=abc',
    '/openapi/v2.json',
    '/openapi/v1.json',
    '/healthz',
  ]) {
    assert.ok(text.includes(`${first.url}${link}\n`), link)
  }
  assert.match(text, /displayed only once:\n\n {4}gk_test_x{38}\n/)
  assert.match(text, /gatehook init my-api/)
})

test('the curl line fits a narrow terminal, broken where the shell allows it', () => {
  const curl = (at: Welcome) => /curl [^']*'.*?'(?: \\\n)?\s+'.*?'/s.exec(plain(at))![0]
  const narrow = curl(first)
  assert.match(narrow, /^curl -H 'X-API-Key: gk_test_x+' \\\n +'http.*\/api\/v2\/notes\?limit=3'$/)
  assert.ok(narrow.split('\n').every((line) => line.length < 80))
  assert.doesNotMatch(curl({ ...first, columns: 160 }), /\n/)
})

test('a later start prints no key, a declared service no advice to declare one', () => {
  const later = { testKey: undefined, consolePath: undefined, isReference: false }
  const text = plain({ ...first, ...later })
  assert.ok(text.includes(`${first.url}/console\n`))
  assert.doesNotMatch(text, /gk_test_|curl|init|reference|token/)
})

test('a start says how to create a key unless it prints one', () => {
  const create = /npx gatehook keys create --name mine --mode test --scopes notes:read /
  assert.match(plain({ ...first, testKey: undefined }), create)
  assert.doesNotMatch(plain(first), create)
})

test('at a terminal a log line is short; other lines are unchanged', () => {
  const json =
    '{"level":"warn","time":"2026-11-21T01:38:24.000Z","url":"http://a","msg":"two words"}'
  const line = terminalLine(json).replace(/\x1b\[[0-9;]*m/g, '')
  assert.equal(line, '01:38:24 warn  two words url=http://a')
  assert.equal(terminalLine('not json'), 'not json')
})

test('at a terminal an error has its message once, and its stack below the line', () => {
  const stack = 'Error: no \u001b[2Jrows\n    at handle (file:///a.ts:1:2)\ncaused by: Error: b'
  const json = JSON.stringify({
    level: 'error',
    time: '2026-11-21T01:38:24.000Z',
    err: { type: 'Error', message: 'no rows: b', stack },
    route: '/x',
    msg: 'bug',
  })
  assert.deepEqual(
    terminalLine(json)
      .replace(/\x1b\[[0-9;]*m/g, '')
      .split('\n'),
    [
      '01:38:24 error bug route=/x',
      '  Error: no \\u001b[2Jrows',
      '      at handle (file:///a.ts:1:2)',
      '  caused by: Error: b',
    ],
  )
})

test('at a terminal a request is a line with its method, path, status and duration', () => {
  const line = (members: object) =>
    terminalLine(
      JSON.stringify({
        level: 'info',
        time: '2026-11-21T01:38:24.123Z',
        msg: 'request',
        ...members,
      }),
    ).replace(/\x1b\w*\[[0-9;]*m/g, '')
  const request = {
    request_id: 'req_a',
    method: 'GET',
    url: '/api/v1/notes?limit=3',
    route: '/api/v1/notes',
    status: 200,
    ms: 3.4,
    address: '127.0.0.1',
    principal_kind: 'key',
    principal_id: 'key_1',
    customer: 'default',
    mode: 'test',
  }
  assert.equal(line(request), '01:38:24.123  200      3 ms  GET    /api/v1/notes?limit=3  req_a')
  assert.equal(
    line({ ...request, status: 404, error: 'not_found', url: '/\u001b[2J\u202ea\nb' }),
    '01:38:24.123  404      3 ms  GET    /\\u001b[2J\\u202ea\\u000ab  not_found  req_a',
  )
  const { status: _, ...aborted } = request
  assert.match(line({ ...aborted, msg: 'request aborted' }), / {2}--- .* GET /)
})
