/**
 * §11.4: every parser of external bytes is linear in their length. The test counts steps instead of
 * time: twice the input takes about twice the steps, up to the bound of the input.
 */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { isDeep, runsOf } from '../../../../test/rig/depth.ts'
import { startCounting } from '../http/steps.ts'

const { count, stop } = startCounting([
  '/packages/gatehook/src/',
  '/packages/receiver/src/',
  '/node_modules/negotiator/',
  '/node_modules/cookie/',
])
after(stop)

// Only now: code that is compiled before counting began has no counters.
const src = new URL('../../src/', import.meta.url)
// biome-ignore lint/suspicious/noExplicitAny: modules by path
const load = (path: string): Promise<any> => import(new URL(path, src).href)
const authorization = await load('protocol/http/authorization.ts')
const { parseCredential } = await load('identity/access/credential.ts')
const { Query } = await load('protocol/http/query.ts')
const { parseRequestHead } = await load('protocol/http/request-head.ts')
const { createOriginResolver, requireServedHost } = await load('protocol/http/proxy-trust.ts')
const media = await load('protocol/http/content-negotiation.ts')
const { requireMatch } = await load('protocol/http/conditional.ts')
const { readCookie } = await load('protocol/http/cookies.ts')
const { createCors } = await load('protocol/http/cors.ts')
const { parseJsonBody } = await load('protocol/http/json-body.ts')
const { itemTexts, memberTexts } = await load('protocol/http/json-text.ts')
const { readIdempotencyKey } = await load('protocol/idempotency/key.ts')
const { parseToken } = await load('identity/tokens/access-token.ts')
const { parseSessionId } = await load('identity/tokens/refresh-token.ts')
const { parseApiKey } = await load('kernel/api-key-format.ts')
const { decodeCursor } = await load('protocol/lists/cursor.ts')
const { createVersionReader } = await load('declare/versions/requested-version.ts')
const { parseScopes } = await load('identity/oauth/scopes.ts')
const { findRegistrationFault, matchesRedirectUri } = await load('identity/oauth/redirect-uri.ts')
const { parseForm } = await load('identity/oauth/parameters.ts')
const { readClientCredential } = await load('identity/oauth/client-authentication.ts')
const { parseTime } = await load('kernel/time.ts')
const { redactUrl } = await load('kernel/log.ts')
const { withoutCredentials, withoutIssued } = await load('kernel/credential-shapes.ts')
const { unescapeFormulas } = await load('protocol/lists/csv-reader.ts')
const { readValueList } = await load('protocol/lists/value-list.ts')
const { readMembers } = await load('protocol/fields/body.ts')
const { verify } = await load('../../receiver/src/verify.ts')

const KIB = 1024
const HEADER = 16 * KIB
const URL_BOUND = 8 * KIB
/** Bodies are bounded by 1 MiB; a sixteenth is enough to detect a quadratic parser. */
const BODY = 64 * KIB

const key = createSecretKey(Buffer.alloc(32))
const keys = { current: key, accepted: [key] }
const noQuery = Query.empty
const random = { bytes: (n: number) => Buffer.alloc(n) }
const versions = [{ name: 'v1', released: '2025-06-01' }]
const vendor = media.vendorTypePattern('gatehook')
const front = createOriginResolver('10.0.0.0/8')
const trusted = (headers: object) => front('10.0.0.1', false, headers, 'h')
const named = (call: object) =>
  createVersionReader(versions, 'gatehook').versionOf({ query: noQuery, headers: {}, ...call })
const arrival = (url: string, headers: object = {}) =>
  parseRequestHead(
    { method: 'GET', url, httpVersionMinor: 1, headers: { host: 'h', ...headers }, rawHeaders: [] },
    0,
    { urlBytes: URL_BOUND, headerLines: 250, roots: new Set(), random, now: () => 0 },
  )
const bytesOf = (text: string) => Buffer.from(text)
const objectOf = (text: string) =>
  Object.fromEntries(text.split('').map((sign, at) => [`${sign}${at}`, sign]))

interface Parser {
  readonly name: string
  readonly bound: number
  /** Valid beginnings of the text, which take the parser beyond the first character. */
  readonly leads: readonly string[]
  readonly run: (text: string) => unknown
}

const parser = (
  name: string,
  bound: number,
  leads: readonly string[],
  run: Parser['run'],
): Parser => ({ name, bound, leads: ['', ...leads], run })

const parsers: readonly Parser[] = [
  parser('Authorization', HEADER, ['Basic ', 'Bearer a', ' '], authorization.parseAuthorization),
  parser('Authorization as credential', HEADER, ['Bearer a'], (text) =>
    parseCredential({ rawHeaders: ['authorization', text], query: noQuery }),
  ),
  parser('X-API-Key', HEADER, ['gk_live_'], (text) =>
    parseCredential({ rawHeaders: ['x-api-key', text], query: noQuery }),
  ),
  parser('a Basic value', HEADER, ['YTpi'], authorization.parseBasic),
  parser('Basic of a client', HEADER, ['a:'], (text) =>
    readClientCredential(['authorization', `Basic ${btoa(text)}`], new Map()),
  ),
  parser('a query', URL_BOUND, ['a=', 'a&'], (text) => Query.parse(text).repeated()),
  parser('a request target', URL_BOUND, ['/api/v1/', 'http://a/', '/?'], (text) => arrival(text)),
  parser('X-Request-Id', HEADER, ['a'], (text) => arrival('/', { 'x-request-id': text })),
  parser('Cookie', HEADER, ['session=', 'a='], (cookie) =>
    readCookie({ headers: { cookie }, secure: false }, 'session'),
  ),
  parser('Host', HEADER, ['a:', '['], (text) =>
    requireServedHost({ publicUrl: 'https://a.example', host: '::1' })({ host: text, kind: 'api' }),
  ),
  parser('X-Forwarded-For', HEADER, ['10.0.0.1,', '[::1]'], (text) =>
    trusted({ 'x-forwarded-for': text }),
  ),
  parser('X-Forwarded-Proto and -Host', HEADER, ['https,'], (text) =>
    trusted({ 'x-forwarded-proto': text, 'x-forwarded-host': text }),
  ),
  parser('Accept', HEADER, ['a/b,', 'a/b;q=1', 'a/b;"'], (text) =>
    media.requireAcceptable('gatehook')({ headers: { accept: text } }),
  ),
  parser('Accept of an error', HEADER, ['application/problem+json,', 'a/b;"'], (text) =>
    media.prefersProblem(`${text}, application/problem+json`),
  ),
  parser('Accept of a vendor', HEADER, ['application/vnd.gatehook.api.v1+json,'], (text) =>
    media.findPreferredVendorType(text, vendor),
  ),
  parser('Content-Type', HEADER, ['a/b;', 'application/json;a="'], (text) =>
    media.findBodyTypeProblem(text, undefined, ['application/json'], vendor),
  ),
  parser('If-Match', HEADER, ['"a",', 'W/"'], (text) =>
    requireMatch({ headers: { 'if-match': text } }, () => '{}'),
  ),
  parser('Access-Control-Request-Headers', HEADER, ['a,'], (text) =>
    createCors('https://a').preflight({
      method: 'OPTIONS',
      headers: {
        origin: 'https://a',
        'access-control-request-method': 'GET',
        'access-control-request-headers': text,
      },
    }),
  ),
  parser('Idempotency-Key', HEADER, ['"'], (text) =>
    readIdempotencyKey({ rawHeaders: ['idempotency-key', text] }),
  ),
  parser('X-API-Version', HEADER, ['v1,', '1'], (text) =>
    named({ headers: { 'x-api-version': text } }),
  ),
  parser('an access token', HEADER, ['a.b.', 'eyJ'], parseToken),
  parser('a refresh token', HEADER, ['grt_'], (text) => parseSessionId(keys, text)),
  parser('an API key', HEADER, ['gk_live_'], parseApiKey),
  parser('a cursor', URL_BOUND, ['a'], (text) => decodeCursor(keys, 'b', text)),
  parser('a scope', BODY, ['a '], (text) => parseScopes(text, ['a'])),
  parser('a redirect URI', BODY, ['http://127.0.0.1:1', 'com.a.', 'https://a@'], (text) => {
    findRegistrationFault(text)
    matchesRedirectUri(text, ['http://127.0.0.1/a'])
  }),
  parser('a form', BODY, ['a=b&'], (text) => parseForm({ query: noQuery, bytes: bytesOf(text) })),
  parser('the members of a JSON text', BODY, ['"', '[', '{"a":'], memberTexts),
  parser('the items of a JSON text', BODY, ['"', '[', '{"a":'], itemTexts),
  parser('a JSON body', BODY, ['"', '[', '{"a":'], (text) => parseJsonBody(bytesOf(text))),
  parser('an array of a JSON body', BODY / 4, [], (text) =>
    parseJsonBody(bytesOf(JSON.stringify(text.split('')))),
  ),
  parser('an object of a JSON body', BODY / 8, [], (text) =>
    parseJsonBody(bytesOf(JSON.stringify(objectOf(text)))),
  ),
  parser('unknown members', BODY / 4, [], (text) => readMembers(objectOf(text), {})),
  parser('an instant', BODY, ['2026-01-01T'], parseTime),
  parser('a text for the log', BODY, ['eyJ', 'Basic a', 'gk_live_', '%2E', 'grt_ '], (text) => {
    withoutCredentials(text)
    withoutIssued(text)
  }),
  parser('a list of values', BODY, ['"', '""', 'a"', '",'], (text) =>
    readValueList('name[in]', text),
  ),
  parser('a cell of a CSV file', BODY, ["'=", ";'", '; =', '\n'], unescapeFormulas),
  parser('a URL for the log', HEADER, ['/?api_key=', '/?%', 'gk_live_'], redactUrl),
  ...['x-hub-signature-256', 'gatehook-signature', 'webhook-signature'].map((name) =>
    parser(`${name} at a receiver`, HEADER, ['t=1,v1=', 'sha256=', 'v1,'], (text) =>
      verify({
        body: '{}',
        headers: { [name]: text, 'webhook-id': 'a', 'webhook-timestamp': '1' },
        secrets: ['whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dg=='],
        now: () => 1000,
      }),
    ),
  ),
]

const SIGNS = [...' \t,;="\\/:.*+&%[]{}Wav1-_@#~'.split(''), 'é']
/** Units that were slow in the past, and separators of headers. */
const UNITS = [
  ...[' ', '\t', ',', ';', ';a=b', ', a/b', '"', 'W/"a",', '=', '&'],
  ...['application/vnd.gatehook.api.v1+json, ', 'application/vnd.a', 'text/a;q="', ';";'],
]
const DOUBLINGS = 3
/** The steps of a constant part; a quadratic part takes a million at the smallest input. */
const CONSTANT = 4000

/** Fails if twice the text takes much more than twice the steps. */
async function assertLinear({ name, bound, run }: Parser, text: (length: number) => string) {
  const smallest = bound / 2 ** DOUBLINGS
  let before = await count(() => run(text(smallest)))
  for (let length = smallest * 2; length <= bound; length *= 2) {
    const steps = await count(() => run(text(length)))
    const most = 3 * before + CONSTANT
    assert.ok(
      steps <= most,
      `${name}: ${steps} steps for ${length} characters, ${before} for half: ${text(40)}`,
    )
    before = Math.max(before, steps)
  }
}

for (const current of parsers) {
  test(`${current.name} is read in a linear number of steps`, async () => {
    const unit = fc.string({ unit: fc.constantFrom(...SIGNS), minLength: 1, maxLength: 4 })
    const text = fc.record({
      lead: fc.constantFrom(...current.leads),
      unit,
      end: fc.constantFrom('', 'x', '"'),
    })
    await fc.assert(
      fc.asyncProperty(text, ({ lead, unit, end }) =>
        assertLinear(current, (length) => (lead + unit.repeat(length)).slice(0, length - 1) + end),
      ),
      { seed: 1104, numRuns: runsOf(5) },
    )
    const repeated = current.leads.filter((lead) => lead !== '')
    for (const unit of [...UNITS, ...repeated]) {
      for (const lead of isDeep ? current.leads : ['']) {
        await assertLinear(
          current,
          (length) => `${(lead + unit.repeat(length)).slice(0, length - 1)}x`,
        )
      }
    }
  })
}

test('the count detects quadratic loops and string functions', async () => {
  const trimmedAgain = (text: string) => {
    let rest = text
    while (rest.startsWith(' ')) rest = rest.slice(1)
  }
  const quadratic = parser('slices', HEADER, [], trimmedAgain)
  const body = JSON.stringify('x'.repeat(BODY))
  assert.ok((await count(() => parseJsonBody(bytesOf(body)))) > BODY, 'blocks of the source count')
  await assert.rejects(
    assertLinear(quadratic, (length) => ' '.repeat(length)),
    /slices: /,
  )
})
