/** The shells and files of the pages: headers, codings, policy. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { type BuiltPages, readBuiltPages } from './assets.ts'
import { createBranding } from './branding.ts'
import { pageRoutes } from './routes.ts'

function builtPages(t: TestContext): BuiltPages {
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-pages-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'assets'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('console.html', '<html data-service="%service%" data-release="%release%">%other%')
  write('portal.html', '<html>')
  write('assets/a-1.js', 'plain')
  write('assets/a-1.js.br', 'brotli')
  write('assets/a-1.js.gz', 'gzip')
  write('assets/notes.txt', 'not served')
  return readBuiltPages(folder)!
}

const branding = createBranding({ name: 'A portal', accent: null, logo: null })
const options = {
  service: 'A "B" <C> & D',
  branding,
  release: '1.2.3',
  frameAncestors: [],
}

const request = (
  pages: BuiltPages | undefined,
  path: string,
  { headers = {}, ...more }: Partial<Call> & { frameAncestors?: string[] | '*' } = {},
): Answer => {
  const name = path.startsWith('/assets/') ? '/assets/*' : path
  const route = pageRoutes({ ...options, ...more, pages }).find((route) => route.path === name)!
  const call = { headers, params: { '*': path.slice('/assets/'.length) } } as unknown as Call
  return route.methods.GET!.handle(call) as Answer
}

test('a shell has the values of the service, escaped, and is never stored', (t) => {
  const { status, raw, headers = {} } = request(builtPages(t), '/console')
  assert.equal(status, 200)
  const attributes = 'data-service="A &quot;B&quot; &lt;C> &amp; D" data-release="1.2.3"'
  assert.equal(raw, `<html ${attributes}>%other%`)
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-frame-options'], 'DENY')
})

test('the policy allows no inline code, no other origin, and Trusted Types only', (t) => {
  const { headers = {} } = request(builtPages(t), '/console')
  const policy = headers['content-security-policy']!
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/)
  assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/)
  assert.match(policy, /frame-ancestors 'none'$/)
  assert.doesNotMatch(policy, /unsafe|http|\*/)
})

test('only the portal can be framed, and only by configured origins', (t) => {
  const pages = builtPages(t)
  const frameAncestors = ['https://a.example', 'https://b.example']
  const policyOf = (path: string) =>
    request(pages, path, { frameAncestors }).headers!['content-security-policy']!
  assert.match(policyOf('/portal'), /frame-ancestors https:\/\/a\.example https:\/\/b\.example$/)
  assert.match(policyOf('/console'), /frame-ancestors 'none'$/)
  assert.equal(request(pages, '/portal', { frameAncestors }).headers!['x-frame-options'], undefined)
  const anyone = request(pages, '/portal', { frameAncestors: '*' })
  assert.match(anyone.headers!['content-security-policy']!, /frame-ancestors \*$/)
})

const codings: readonly (readonly [accept: string | undefined, body: string])[] = [
  [undefined, 'plain'],
  ['', 'plain'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'brotli'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['zstd', 'plain'],
]
for (const [accept, body] of codings) {
  test(`Accept-Encoding: ${accept} → ${body}`, (t) => {
    const headers = accept === undefined ? {} : { 'accept-encoding': accept }
    const { raw, headers: sent = {} } = request(builtPages(t), '/assets/a-1.js', { headers })
    assert.equal(Buffer.from(raw as Uint8Array).toString(), body)
    const coding = { plain: undefined, gzip: 'gzip', brotli: 'br' }[body]
    assert.equal(sent['content-encoding'], coding)
    assert.equal(sent['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(sent.vary, 'Accept-Encoding')
    assert.match(sent['cache-control']!, /immutable/)
  })
}

test('a file with the tag of the request is 304 without a body', (t) => {
  const pages = builtPages(t)
  const { etag } = request(pages, '/assets/a-1.js').headers!
  const headers = { 'if-none-match': `W/"x", ${etag}` }
  const { status, raw } = request(pages, '/assets/a-1.js', { headers })
  assert.deepEqual([status, raw], [304, undefined])
})

for (const name of ['notes.txt', 'a-1.js.br', '../console.html', 'missing.js']) {
  test(`/assets/${name} is 404`, (t) => {
    const pages = builtPages(t)
    assert.throws(() => request(pages, `/assets/${name}`), { code: 'not_found' })
  })
}

test('without built pages a shell is 503 and names the command', () => {
  const { status, raw } = request(undefined, '/portal')
  assert.equal(status, 503)
  assert.match(String(raw), /npm run build:pages/)
})
