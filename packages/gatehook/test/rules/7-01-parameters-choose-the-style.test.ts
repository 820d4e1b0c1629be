/** §7.1: every list path has every style; parameters select it; mixed styles are rejected. */
import assert from 'node:assert/strict'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { everyList, ok, refused, styles } from '../lists/rows.ts'

const members = {
  offset: ['data', 'limit', 'offset', 'total'],
  cursor: ['cursors', 'data', 'has_more', 'next_cursor'],
  keyset: ['after_id', 'data', 'has_more'],
  page: ['data', 'page', 'per_page', 'total', 'total_pages'],
  hypermedia: ['data', 'links', 'meta'],
}

/** Returns the style that the members of the envelope indicate. */
function styleOf(reply: Reply): string | undefined {
  const names = Object.keys(reply.body)
    .filter((name) => name !== '_warnings')
    .sort()
  return styles.find((style) => members[style].join() === names.join())
}

const chosen = [
  ['', 'cursor'],
  ['?limit=3', 'cursor'],
  ['?offset=0', 'offset'],
  ['?offset=1&limit=3', 'offset'],
  ['?page=1', 'page'],
  ['?per_page=3', 'page'],
  ['?per_page=3&page=2', 'page'],
  ['?pagination=offset', 'offset'],
  ['?pagination=offset&limit=2', 'offset'],
  ['?pagination=cursor', 'cursor'],
  ['?pagination=page', 'page'],
  ['?pagination=hypermedia', 'hypermedia'],
  ['?pagination=hypermedia&page=2&per_page=2', 'hypermedia'],
] as const

const conflicts = [
  ['offset=0&page=1', 'offset', 'page'],
  ['offset=0&cursor=x', 'offset', 'cursor'],
  ['offset=0&after_id=1', 'offset', 'after_id'],
  ['offset=0&per_page=5', 'offset', 'per_page'],
  ['after_id=1&cursor=x', 'after_id', 'cursor'],
  ['after_id=1&page=1', 'after_id', 'page'],
  ['cursor=x&page=1', 'cursor', 'page'],
  ['limit=5&page=1', 'limit', 'page'],
  ['limit=5&per_page=5', 'limit', 'per_page'],
  ['pagination=hypermedia&limit=5', 'pagination', 'limit'],
  ['pagination=page&limit=5', 'pagination', 'limit'],
  ['pagination=page&offset=5', 'pagination', 'offset'],
  ['pagination=offset&page=1', 'pagination', 'page'],
  ['pagination=cursor&offset=1', 'pagination', 'offset'],
  ['pagination=cursor&after_id=1', 'pagination', 'after_id'],
  ['pagination=keyset&cursor=x', 'pagination', 'cursor'],
  ['limit=1&limit=1', 'limit'],
  ['pagination=page&pagination=page', 'pagination'],
  ['sort=id&sort=id', 'sort'],
  ['id=1&id=2', 'id'],
] as const

eachService('every list path serves every style', async (service) => {
  for (const { path, caller, integerId } of await everyList(service)) {
    for (const [query, style] of chosen) {
      assert.equal(styleOf(await ok(caller.get(path + query))), style, path + query)
    }
    for (const query of ['?after_id=0', '?after_id=1&limit=2', '?pagination=keyset']) {
      if (integerId) assert.equal(styleOf(await ok(caller.get(path + query))), 'keyset')
      else {
        const parameter = query.includes('after_id') ? 'after_id' : 'pagination'
        await refused(caller.get(path + query), 'invalid_parameter', parameter)
      }
    }
    for (const [query, ...names] of conflicts) {
      await refused(caller.get(`${path}?${query}`), 'pagination_conflict', ...names)
    }
    for (const style of ['', 'Cursor', 'pages', 'toString', '__proto__']) {
      await refused(caller.get(`${path}?pagination=${style}`), 'invalid_parameter', 'pagination')
    }
  }
})

for (const style of styles) {
  eachService(
    `where ${style} is the operator's choice, requests that choose nothing get it`,
    async (service) => {
      const { get } = service
      for (const { path, caller, integerId } of await everyList(service)) {
        const served = style === 'keyset' && !integerId ? 'cursor' : style
        assert.equal(styleOf(await ok(caller.get(path))), served)
        assert.equal(styleOf(await ok(caller.get(`${path}?offset=0`))), 'offset')
        assert.equal(styleOf(await ok(caller.get(`${path}?page=1`))), 'page')
      }
      // A sort selects another style too, because the keyset style has no sort.
      const sorted = await ok(get('/api/v2/users?sort=-name'))
      assert.equal(styleOf(sorted), style === 'keyset' ? 'cursor' : style)
    },
    { env: { GATEHOOK_DEFAULT_PAGINATION: style } },
  )
}
