/** §17.5: mistakes in the declaration of upstreams are found at start, with their correction. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { openApp } from '../../src/embedded.ts'
import { env, f, fields, service } from '../../src/gatehook.ts'
import { ConfigError } from '../../src/platform/config/config.ts'

const api = service({ name: 'A', versions: { v1: { released: '2026-01-01' } }, resources: [] })
const url = 'http://billing:8000'
// A declaration can be plain JavaScript.
// biome-ignore lint/suspicious/noExplicitAny: mistakes that the types prevent
type Any = any
const upstream = (options: Any, name: Any = 'billing') => api.upstream(name, options)
const forward = (options: Any = {}) =>
  upstream({ url }).forward({
    method: 'GET',
    path: '/invoices/:id',
    to: 'billing',
    upstreamPath: '/invoices/:id',
    scope: 'invoices:read',
    ...options,
  })

test('mistakes of an upstream', () => {
  const cases: [Any, RegExp][] = [
    [undefined, /url is required/],
    [{}, /\.upstream\('billing'\): url is required: env\('BILLING_URL'\)/],
    [{ url: 'billing:8000' }, /not an http or https URL, for example/],
    [{ url: 'ftp://billing' }, /not an http or https URL/],
    [{ url: 'http://a:b@billing' }, /contains credentials; set a header/],
    [{ url: 'http://billing?a=1' }, /has a query or a fragment/],
    [{ url: 7 }, /url is required/],
    [{ url, timeoutMs: 0 }, /timeoutMs is a whole number from 1 to 60000/],
    [{ url, timeoutMs: 60_001 }, /timeoutMs/],
    [{ url, timeoutMs: '5' }, /timeoutMs/],
    [{ url, set: [] }, /set is an object of headers/],
    [{ url, set: { 'a b': 'x' } }, /set: a b is not a header/],
    [{ url, set: { host: 'x' } }, /set: host belongs to the connection/],
    [{ url, set: { 'Transfer-Encoding': 'x' } }, /belongs to the connection/],
    [{ url, set: { 'Gatehook-Assertion': 'x' } }, /set: Gatehook-Assertion is set by the engine/],
    [{ url, set: { authorization: 'a\r\nb: c' } }, /a text without line breaks/],
    [{ url, set: { authorization: 7 } }, /a text without line breaks/],
    [{ url, timeout: 1 }, /there is no member timeout; did you mean timeoutMs\?/],
  ]
  for (const [options, sentence] of cases) assert.throws(() => upstream(options), sentence)
  for (const name of ['', 'Billing', 'a b', 7])
    assert.throws(() => upstream({ url }, name), /the name consists of/)
  assert.throws(() => upstream({ url }).upstream('billing', { url }), /is declared twice/)
  assert.throws(() => env('a b'), /is not the name of a variable, for example BILLING_URL/)
})

test('mistakes of a forward', () => {
  assert.ok(forward())
  const cases: [Any, RegExp][] = [
    [{ to: 'biling' }, /there is no upstream biling; did you mean billing\?/],
    [{ to: 'reports' }, /declare \.upstream\('reports', \{ url \}\) before/],
    [{ upstreamPath: 'invoices' }, /upstreamPath is a path below the url/],
    [{ upstreamPath: '/a/../b' }, /upstreamPath is a path/],
    [{ upstreamPath: '/a/%2e%2E/b' }, /upstreamPath is a path/],
    [{ upstreamPath: '/a?b=1' }, /upstreamPath is a path/],
    [{ upstreamPath: '//evil.example/a' }, /upstreamPath is a path/],
    [{ upstreamPath: '/invoices/{id}' }, /write \{id\} as :id/],
    [{ upstreamPath: '/invoices/:other' }, /path has no :other/],
    [{ integers: ['other'] }, /integers: path has no :other/],
    [{ integers: 'id' }, /integers is an array of names/],
    [{ path: '/Invoices/:id' }, /paths look like/],
    [{ scope: undefined }, /scope is required/],
    [{ pass: 'x-tenant' }, /pass is an array of headers/],
    [{ pass: ['Authorization'] }, /pass: Authorization is never forwarded; use set/],
    [{ pass: ['cookie'] }, /never forwarded/],
    [{ pass: ['X-Forwarded-For'] }, /never forwarded/],
    [{ pass: ['gatehook-assertion'] }, /set by the engine/],
    [{ pass: ['connection'] }, /belongs to the connection/],
    [{ pass: ['a:b'] }, /is not a header/],
    [{ responseHeaders: ['Set-Cookie'] }, /responseHeaders: Set-Cookie is set by the engine/],
    [{ responseHeaders: ['cache-control'] }, /set by the engine/],
    [{ responseHeaders: ['access-control-allow-origin'] }, /set by the engine/],
    [{ responseHeaders: ['content-security-policy'] }, /set by the engine/],
    [{ errors: 'hide' }, /errors is 'pass' or 'wrap'/],
    [{ stream: 1 }, /stream is true or false/],
    [{ stream: true, output: fields({ id: f.int() }) }, /a stream has no output/],
    [{ output: [] }, /output is an object of fields, or a list of it/],
    [{ output: [7] }, /output is an object of fields, or a list of it/],
    [{ output: [fields({ id: f.int() }), fields({ id: f.int() })] }, /or a list of it/],
    [{ repeatable: true }, /repeatable is of POST and PATCH/],
    [{ input: fields({ id: f.int() }) }, /a GET has no body/],
    [{ query: { tags: f.array(f.string(), { max: 3 }) } }, /no parameter can be/],
    [{ query: 'all' }, /query is an object of fields/],
    [{ output: { media: 'text/csv' } }, /omit it for a body of another type/],
    [{ output: { id: 'int' } }, /id is a field/],
    [{ maxBodyBytes: 1 }, /a GET has no body, and no maxBodyBytes/],
    [{ upstreampath: '/' }, /there is no member upstreampath; did you mean upstreamPath\?/],
  ]
  for (const [options, sentence] of cases)
    assert.throws(() => forward(options), sentence, String(sentence))
  assert.throws(
    () =>
      forward().forward({
        method: 'GET',
        path: '/invoices/:id',
        to: 'billing',
        upstreamPath: '/x',
        scope: 'a:b',
      }),
    /is declared twice/,
  )
})

test('variables that are missing or wrong prevent the start, all of them at once', async (t) => {
  const declared = upstream({
    url: env('BILLING_URL'),
    set: { authorization: env('BILLING_TOKEN') },
  })
  const open = (variables: Record<string, string>) =>
    openService(t, 'sqlite', { service: declared, env: variables })
  const mistakes = async (variables: Record<string, string>) => {
    const error = await open(variables).catch((error: unknown) => error)
    assert.ok(error instanceof ConfigError)
    return error.mistakes
  }
  assert.deepEqual(await mistakes({}), [
    'BILLING_URL is not set; the upstream billing needs it.',
    'BILLING_TOKEN is not set; the upstream billing needs it.',
  ])
  await assert.rejects(openApp({ service: declared }), {
    message:
      'BILLING_URL is not set; the upstream billing needs it.\n' +
      'BILLING_TOKEN is not set; the upstream billing needs it.\n' +
      'openApp() reads variables from its option env only.',
  })
  const wrong = await mistakes({ BILLING_URL: 'billing', BILLING_TOKEN: 'secret\u0001' })
  assert.match(wrong[0]!, /^BILLING_URL is not an http or https URL/)
  assert.equal(wrong[1], 'BILLING_TOKEN has a character that no header can have.')
  assert.ok(await open({ BILLING_URL: url, BILLING_TOKEN: 'a' }))
})
