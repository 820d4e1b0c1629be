/** §12.1: the docs are complete without a script, and every link and anchor exists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { failures } from '../../src/kernel/failure.ts'
import { post } from '../fixtures/three-versions.ts'

/** The docs read no row, so one database is sufficient. */
const docsTest = (name: string, body: (app: TestApp) => Promise<void>) =>
  test(name, async (t) => body(await openService(t, 'sqlite')))

const HTML = { accept: 'text/html' }

interface Crawl {
  /** HTML by address. */
  readonly pages: ReadonlyMap<string, string>
  /** `/docs/v2/errors#not_found` for each link to an anchor. */
  readonly anchors: ReadonlySet<string>
}

/** Follows every link under `/docs`, from the first page of a version. */
async function crawl({ get }: TestApp, start: string): Promise<Crawl> {
  const pages = new Map<string, string>()
  const anchors = new Set<string>()
  const queue = [start]
  for (let address = queue.pop(); address !== undefined; address = queue.pop()) {
    if (pages.has(address)) continue
    const reply = await get(address, HTML)
    assert.equal(reply.status, 200, address)
    pages.set(address, reply.text)
    for (const [, href] of reply.text.matchAll(/ href="([^"]*)"/g)) {
      const [path, anchor] = href!.startsWith('#') ? [address, href!.slice(1)] : href!.split('#')
      if (anchor !== undefined) anchors.add(`${path}#${anchor}`)
      if (path!.startsWith('/docs/v') && !path!.includes('.')) queue.push(path!)
    }
  }
  return { pages, anchors }
}

docsTest('every link of the docs leads to a page, and every anchor exists', async (app) => {
  const { pages, anchors } = await crawl(app, '/docs/v2')
  assert.ok(pages.size > 20, `${pages.size} pages`)
  for (const anchor of anchors) {
    const [path, id] = anchor.split('#')
    if (path!.startsWith('/docs')) assert.ok(pages.get(path!)?.includes(` id="${id}"`), anchor)
  }
  for (const name of ['start', 'orders', 'users', 'webhooks', 'errors', 'changelog']) {
    assert.ok(pages.has(`/docs/v2/${name}`), name)
  }
})

docsTest(
  'each operation names its scope once, and no example has a fixed idempotency key',
  async (app) => {
    const users = (await app.get('/docs/v2/users.md')).text
    for (const section of users.split(/^## /m).slice(1)) {
      const count = section.match(/Needs the scope `users:/g)?.length ?? 0
      assert.ok(count <= 1, section.slice(0, 200))
    }
    assert.match(users, /"Idempotency-Key: \$\(openssl rand -hex 16\)"/)
    assert.match(users, /"Idempotency-Key": str\(uuid\.uuid4\(\)\)/)
  },
)

docsTest('the documentation of every failure is an anchor that exists', async (app) => {
  const reply = await app.get('/api/v2/orders/999999')
  const documentation = new URL(reply.body.documentation)
  assert.equal(documentation.hash, '#not_found')
  const page = (await app.get(documentation.pathname, HTML)).text
  const markdown = (await app.get(`${documentation.pathname}.md`)).text
  for (const code of Object.keys(failures)) {
    assert.ok(page.includes(` id="${code}"`), code)
    assert.ok(markdown.includes(`id="${code}"`), code)
  }
})

docsTest('the documentation of a failure is that of the version of the request', async (app) => {
  const pathOf = async (path: string, headers = {}) => {
    const { pathname } = new URL((await app.get(path, headers)).body.documentation)
    assert.equal((await app.get(pathname, HTML)).status, 200, pathname)
    return pathname
  }
  assert.equal(await pathOf('/api/v1/orders/999999'), '/docs/v1/errors')
  assert.equal(await pathOf('/api/v1/orders', { authorization: '' }), '/docs/v1/errors')
  assert.equal(await pathOf('/api/orders/999999', { 'api-version': 'v1' }), '/docs/v1/errors')
  assert.equal(await pathOf('/api/v1/absent'), '/docs/v1/errors')
  assert.equal(await pathOf('/api/v7/orders'), '/docs/v2/errors')
  assert.equal(await pathOf('/events/evt_absent'), '/docs/v2/errors')
})

test('the 410 of a retired version leads to a page of its successor', async (t) => {
  const now = Date.parse('2026-10-01T00:00:00Z')
  const clock: Clock = { now: () => now, elapsedMs: () => performance.now() }
  const versions = {
    v1: { released: '2024-01-01', deprecated_at: '2026-01-01', sunset_at: '2026-09-01' },
    v2: {
      released: '2026-01-01',
      brownouts: [{ start: '2026-09-30T00:00:00Z', end: '2026-10-02T00:00:00Z' }],
    },
  }
  const app = await openService(t, 'sqlite', { clock, service: notesService(versions) })
  const gone = await app.get('/api/v1/notes')
  assert.equal(gone.status, 410)
  const successor = new URL(gone.body.documentation)
  assert.equal((await app.get(successor.pathname, HTML)).status, 200)
  const brownout = await app.get('/api/v2/notes')
  assert.equal(brownout.body.error, 'api_version_brownout')
  const { pathname, hash } = new URL(brownout.body.documentation)
  assert.ok((await app.get(pathname, HTML)).text.includes(`id="${hash.slice(1)}"`))
  const page = (await app.get('/docs/v1', HTML)).text
  assert.match(page, /Version v1 is retired since 2026-09-01/)
})

const noteFields = { id: f.id(), text: f.string().describe('<b>bold</b> & "quoted" | `code`') }

const notesService = (versions: Parameters<typeof service>[0]['versions']) =>
  service({
    name: 'Notes <script>',
    versions,
    resources: [
      resource('notes', {
        fields: noteFields,
        list: { filter: [], sort: ['id'] },
        access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
        events: ['note.created'],
      }).sample(() => ({ text: '</pre><script>alert(1)</script>' })),
      // A collection whose name is that of a page of every service.
      resource('errors', {
        fields: { id: f.id() },
        list: { filter: [], sort: ['id'] },
        access: { read: 'errors:read', create: false, update: false, delete: false },
        events: [],
      }),
    ],
  })

test('words of a declaration are never HTML', async (t) => {
  const app = await openService(t, 'sqlite', {
    service: notesService({ v1: { released: '2026-01-01' } }),
  })
  const { pages } = await crawl(app, '/docs/v1')
  for (const [address, text] of pages) {
    const scripts = text.match(/<script[^>]*>/g) ?? []
    assert.equal(scripts.length, 1, address)
    assert.match(scripts[0]!, /^<script src="\/docs\/assets\/docs-[0-9a-f]+\.js">$/)
    assert.doesNotMatch(text, /<b>| style="| on\w+="/, address)
  }
  assert.match(pages.get('/docs/v1/notes')!, /&lt;b&gt;bold&lt;\/b&gt; &amp; &quot;quoted&quot;/)
  assert.ok(pages.has('/docs/v1/all-errors'), 'the collection errors has a page of its own')
  const markdown = (await app.get('/docs/v1/notes.md')).text
  assert.doesNotMatch(markdown.replace(/^```[\s\S]*?^```/gm, ''), /<b>|<script/)
})

test('each page of an ending version names the end, and the changes that concern it', async (t) => {
  const app = await openService(t, 'sqlite', { service: post })
  const before = await app.get('/docs/v2/clients', HTML)
  assert.doesNotMatch(before.text, /class="notice"/)
  const body = { deprecated_at: '2026-01-01', sunset_at: '2036-01-01' }
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  assert.equal((await admin.put('/admin/versions/v2', body)).status, 200)
  const { pages } = await crawl(app, '/docs/v2')
  for (const [address, text] of pages) {
    if (!address.startsWith('/docs/v2')) continue
    assert.match(text, /Version v2 is deprecated and ends on 2036-01-01/, address)
  }
  const changelog = pages.get('/docs/v2/changelog')!
  assert.match(changelog, /Deprecated on 2026-01-01; ends on 2036-01-01; its successor is <a/)
  assert.equal(changelog.match(/Deprecated on/g)!.length, 1)
  const clients = pages.get('/docs/v2/clients')!
  assert.match(clients, /Names are two fields, so that letters can be addressed/)
  assert.doesNotMatch(clients, /Parcels can be held/)
  assert.match((await app.get('/docs/v2/clients.md')).text, /^> \*\*Version v2 is deprecated/m)
  // The shape is that of the version.
  assert.match(clients, /&quot;name&quot;: &quot;First1000 Last 1000&quot;/)
  assert.match((await app.get('/docs/v1/clients', HTML)).text, /&quot;mail&quot;/)
})

docsTest('pages have a strict policy, an entity tag and a compressed form', async ({ get }) => {
  const page = await get('/docs/v2/orders', HTML)
  const policy = page.headers['content-security-policy']!
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/)
  assert.match(policy, /require-trusted-types-for 'script'/)
  assert.doesNotMatch(policy, /unsafe/)
  const { etag } = page.headers
  const again = await get('/docs/v2/orders', { ...HTML, 'if-none-match': etag! })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
  for (const address of ['/docs/v2/orders.md', '/llms.txt', '/docs/v2/search.json']) {
    const reply = await get(address)
    assert.equal((await get(address, { 'if-none-match': reply.headers.etag! })).status, 304)
  }
})

docsTest('script, style and search index are small', async ({ app, get }) => {
  const page = (await get('/docs/v2', HTML)).text
  const script = / src="([^"]+\.js)"/.exec(page)![1]!
  const style = / href="([^"]+\.css)"/.exec(page)![1]!
  const limits = { [script]: 8192, [style]: 10_240, '/docs/v2/search.json': 30_720 }
  for (const [url, limit] of Object.entries(limits)) {
    const headers = { host: 'localhost', 'accept-encoding': 'gzip' }
    const reply = await app.inject({ method: 'GET', url, headers })
    assert.equal(reply.headers['content-encoding'], 'gzip', url)
    assert.ok(reply.rawPayload.length < limit, `${url}: ${reply.rawPayload.length}`)
    assert.equal(gunzipSync(reply.rawPayload).toString(), (await get(url)).text)
    if (url !== '/docs/v2/search.json') {
      assert.match(String(reply.headers['cache-control']), /immutable/)
    }
  }
})

docsTest('search has every operation, event type and code', async ({ app, get }) => {
  const entries: [string, string, string, string][] = (await get('/docs/v2/search.json')).body
  const titles = new Set(entries.map(([title]) => title))
  for (const code of Object.keys(failures)) assert.ok(titles.has(code), code)
  const { paths } = app.openapi('v2') as {
    paths: Record<string, Record<string, { summary?: string }>>
  }
  const declared = Object.entries(paths).filter(([path]) => /orders|users|webhooks/.test(path))
  for (const [, item] of declared) {
    for (const operation of Object.values(item)) {
      if (operation.summary) assert.ok(titles.has(operation.summary), operation.summary)
    }
  }
  assert.ok(titles.has('order.paid'))
})

docsTest('llms.txt and the API catalog list documents that exist', async ({ get }) => {
  const text = (await get('/llms.txt')).text
  const links = [...text.matchAll(/\]\((http[^)]+)\)/g)].map(([, link]) => new URL(link!).pathname)
  assert.ok(links.length > 20)
  const catalog = await get('/.well-known/api-catalog')
  assert.match(catalog.headers['content-type']!, /^application\/linkset\+json; profile=/)
  const { linkset } = catalog.body
  const { anchor, ...relations } = linkset.at(-1)
  assert.match(anchor, /\/api\/v2$/)
  const targets = Object.values<{ href: string }[]>(relations).flat()
  for (const { href } of targets) links.push(new URL(href).pathname)
  for (const link of links) assert.equal((await get(link)).status, 200, link)
})

docsTest('unknown pages are 404, and short addresses lead to the newest version', async (app) => {
  const { get } = app
  for (const address of ['/docs/v9', '/docs/v2/nope', '/docs/v2/orders.json', '/docs/v2/a%2Fb']) {
    const page = await get(address, HTML)
    assert.equal(page.status, 404, address)
    assert.match(page.text, /<h1>No such page<\/h1>/)
    assert.match(page.text, /<a href="\/docs\/v2\/orders"/, 'the contents')
    assert.equal((await get(address)).body.error, 'not_found')
  }
  assert.equal((await get('/docs')).headers.location, '/docs/v2')
  assert.equal((await get('/docs/errors')).headers.location, '/docs/v2/errors')
})
