/** §7.8: `Link`, totals, and HEAD; links repeat filters and no credential. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { everyList, fillUsers, follow, idsOf, links, ok, styles } from '../lists/rows.ts'

const users = '/api/v2/users'
const PUBLIC = 'https://api.example.com'

eachService('a response links to existing pages only', async ({ app, get }) => {
  await fillUsers(app.db, 7)
  const rels = async (query: string) => Object.keys(links(await ok(get(`${users}?${query}`))))
  assert.deepEqual(await rels('offset=0&limit=3'), ['first', 'next', 'last'])
  assert.deepEqual(await rels('offset=3&limit=3'), ['first', 'prev', 'next', 'last'])
  assert.deepEqual(await rels('offset=6&limit=3'), ['first', 'prev', 'last'])
  assert.deepEqual(await rels('page=1&per_page=3'), ['first', 'next', 'last'])
  assert.deepEqual(await rels('page=2&per_page=3'), ['first', 'prev', 'next', 'last'])
  assert.deepEqual(await rels('page=3&per_page=3'), ['first', 'prev', 'last'])
  assert.deepEqual(await rels('pagination=hypermedia&per_page=7'), ['first', 'last'])
  assert.deepEqual(await rels('limit=3'), ['first', 'next'])
  assert.deepEqual(await rels('limit=7'), ['first'])
  assert.deepEqual(await rels('after_id=0&limit=3'), ['first', 'next'])
  assert.deepEqual(await rels('after_id=6&limit=3'), ['first'])
})

eachService('links with long filters are dropped until the header fits', async (service) => {
  const { app, get } = service
  await fillUsers(app.db, 7)
  const rels = async (length: number) => {
    const page = await ok(get(`${users}?page=2&per_page=2&name[ne]=${'x'.repeat(length)}`))
    assert.ok(String(page.headers.link ?? '').length < 12_500)
    return Object.keys(links(page))
  }
  assert.deepEqual(await rels(2000), ['first', 'prev', 'next', 'last'])
  assert.deepEqual(await rels(5000), ['prev', 'next'])
  assert.deepEqual(await rels(7000), ['next'])
})

for (const defaultStyle of styles) {
  eachService(
    `links stay in their style and reach every page (default: ${defaultStyle})`,
    async (service) => {
      for (const { path, caller, integerId } of await everyList(service)) {
        const whole = idsOf(await ok(caller.get(`${path}?offset=0&limit=100`)))
        for (const style of styles) {
          if (style === 'keyset' && !integerId) continue
          const size = style === 'page' || style === 'hypermedia' ? 'per_page' : 'limit'
          const start = `${path}?${size}=2&pagination=${style}`
          const pages = await follow(caller, start)
          assert.deepEqual(pages.flatMap(idsOf), whole, start)
          const last = pages.at(-1)!
          assert.deepEqual(idsOf(await ok(caller.get(links(last).first!))), whole.slice(0, 2))
          for (const page of pages) {
            assert.deepEqual(Object.keys(page.body), Object.keys(pages[0]!.body), start)
          }
          if (links(pages[0]!).last) {
            const end = await ok(caller.get(links(pages[0]!).last!))
            assert.deepEqual(end.body.data, last.body.data)
            const back = await follow(caller, links(pages[0]!).last!, 'prev')
            assert.deepEqual(back.reverse().flatMap(idsOf), whole)
          }
        }
        // Without an explicit style, links use the style of the response.
        const pages = await follow(caller, `${path}?sort=id`)
        assert.deepEqual(pages.flatMap(idsOf), whole)
        const first = await ok(caller.get(links(pages[0]!).first!))
        assert.deepEqual(first.body, pages[0]!.body)
      }
    },
    { env: { GATEHOOK_DEFAULT_PAGINATION: defaultStyle } },
  )
}

eachService('links repeat filters, sort and fields, and no credential', async (service) => {
  const { app } = service
  await fillUsers(app.db, 9)
  const key = await service.key()
  const anonymous = service.as(undefined)
  const repeatedQuery = 'name%5Bne%5D=a%26b%20%C3%A9%3D&sort=-name&fields=id%2Cname'
  for (const style of ['offset=0&limit=2', 'limit=2', 'page=1&per_page=2']) {
    const page = await ok(anonymous.get(`${users}?api_key=${key}&${repeatedQuery}&${style}`))
    assert.equal(page.headers.link!.includes('api_key'), false)
    assert.equal(page.text.includes(key), false)
    const targets = Object.values(links(page))
    assert.ok(targets.length >= 2)
    for (const target of targets) {
      assert.ok(target.startsWith(`${users}?${repeatedQuery}&`), target)
      await ok(service.get(target))
    }
  }
  const linked = `${users}?api_key=${key}&${repeatedQuery}&pagination=hypermedia&per_page=2`
  const { body } = await ok(anonymous.get(linked))
  for (const target of Object.values<string>(body.links)) {
    assert.ok(target.startsWith(`${users}?${repeatedQuery}&`))
    assert.equal(target.includes('api_key'), false)
  }
})

eachService('headers contain totals and page numbers', async (service) => {
  const figures = ['x-total-count', 'x-page', 'x-per-page']
  for (const { path, caller, integerId } of await everyList(service)) {
    const of = async (query: string) => {
      const { headers, body } = await ok(caller.get(`${path}?${query}`))
      return { sent: figures.map((name) => headers[name]), body }
    }
    const offset = await of('offset=1&limit=2')
    const total = String(offset.body.total)
    assert.deepEqual(offset.sent, [total, undefined, undefined])
    assert.deepEqual((await of('page=2&per_page=2')).sent, [total, '2', '2'])
    assert.deepEqual((await of('pagination=hypermedia&page=9')).sent, [total, '9', '20'])
    assert.deepEqual((await of('')).sent, [undefined, undefined, undefined])
    if (integerId)
      assert.deepEqual((await of('after_id=0')).sent, [undefined, undefined, undefined])
  }
})

eachService('HEAD returns the same headers without a body', async (service) => {
  for (const { path, caller, integerId } of await everyList(service)) {
    for (const style of styles) {
      if (style === 'keyset' && !integerId) continue
      const query = `${path}?pagination=${style}`
      const whole = await ok(caller.get(query))
      const head = await caller.send('HEAD', query)
      assert.equal(head.status, 200)
      assert.equal(head.text, '')
      for (const name of ['link', 'etag', 'content-type', 'content-length', 'x-total-count']) {
        assert.equal(head.headers[name], whole.headers[name], `${name} of HEAD ${query}`)
      }
    }
    assert.equal((await caller.send('HEAD', `${path}?limit=0`)).status, 400)
  }
})

eachService(
  'the exposed Link header uses GATEHOOK_PUBLIC_URL; bodies contain paths',
  async (service) => {
    await fillUsers(service.app.db, 3)
    const headers = { host: 'api.example.com', origin: 'https://app.example.com' }
    const page = await ok(service.get(`${users}?pagination=hypermedia&per_page=1&page=2`, headers))
    const targets = [...page.headers.link!.matchAll(/<([^>]*)>; rel="(\w+)"/g)]
    assert.equal(targets.length, 4)
    for (const [, target, rel] of targets) {
      assert.equal(target, PUBLIC + page.body.links[rel!])
      assert.ok(page.body.links[rel!].startsWith(`${users}?`))
    }
    const exposed = page.headers['access-control-expose-headers']!.toLowerCase().split(/, */)
    for (const name of ['link', 'x-total-count', 'x-page', 'x-per-page']) {
      assert.ok(exposed.includes(name), name)
    }
  },
  { env: { GATEHOOK_PUBLIC_URL: PUBLIC, GATEHOOK_CORS_ORIGINS: 'https://app.example.com' } },
)
