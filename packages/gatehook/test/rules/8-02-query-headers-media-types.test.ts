/** §8.2: without a version in the path, query, header or media type can name it. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { users } from '../../service/resources/users.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const vendor = (version: string) => `application/vnd.gatehook.api.${version}+json`

eachService('lists accept the parameters, and their links contain them', async ({ get, post }) => {
  const body = (n: number) => ({ name: `P${n}`, email: `p${n}@example.com` })
  for (const n of [1, 2, 3]) assert.equal((await post('/api/v2/users', body(n))).status, 201)
  for (const name of ['version', 'v', 'api-version']) {
    const page = await get(`/api/users?${name}=v2&limit=1`)
    assert.deepEqual([page.status, page.headers['x-api-version']], [200, 'v2'], name)
    assert.match(page.headers.link!, new RegExp(`[?&]${name}=v2&`))
  }
  const versioned = await get('/api/v2/users?version=v2')
  assert.equal(versioned.status, 200)
  const repeated = await get('/api/users?version=v2&version=v2')
  assert.equal(repeated.body.error, 'pagination_conflict', 'lists reject repeated parameters')
})

eachService('successful responses have the requested media type', async ({ get, post, send }) => {
  const accept = vendor('v2')
  const page = await get('/api/users', { accept })
  assert.deepEqual([page.status, page.headers['content-type']], [200, accept])
  const createReply = await post('/api/v2/users', { name: 'A', email: 'a@example.com' }, { accept })
  assert.deepEqual([createReply.status, createReply.headers['content-type']], [201, accept])
  const missing = await get('/api/users/999', { accept })
  assert.deepEqual([missing.status, missing.headers['content-type']], [404, 'application/json'])
  assert.equal(missing.headers['x-api-version'], 'v2')
  const head = await send('HEAD', '/api/users', undefined, { accept })
  assert.equal(head.headers['content-type'], accept)
})

eachService('the most preferred range selects the version', async ({ get }) => {
  const served = async (accept: string) => {
    const { status, headers } = await get('/api/protected', { accept })
    return [status, headers['x-api-version'], headers['content-type']]
  }
  const json = 'application/json'
  const [v1, v2] = [vendor('v1'), vendor('v2')]
  assert.deepEqual(await served(`${v1};q=0.3, ${v2};q=0.7`), [200, 'v2', v2])
  assert.deepEqual(await served(`${v2};q=0.3, ${json};q=0.7`), [200, 'v1', json])
  assert.deepEqual(await served(`*/*, ${v2}`), [200, 'v2', v2], 'the more specific range')
  assert.deepEqual(
    await served(`text/html, ${v2};q=0.1`),
    [200, 'v2', v2],
    'the only supported range',
  )
  assert.deepEqual(await served(`${json}, ${vendor('v9')};q=0.5`), [200, 'v1', json])
  assert.equal((await served(`${vendor('v9')}, ${json};q=0.5`))[0], 406)
  assert.equal((await served(`${v2};q=0`))[0], 406)
  assert.equal((await served('application/vnd.other.api.v2+json'))[0], 406)
})

eachService('`Vary` names the headers that select the response', async ({ get }) => {
  assert.equal((await get('/api/v1/users')).headers.vary, 'Accept, Authorization, X-API-Key')
  const open = 'Accept, X-API-Version, API-Version, Authorization, X-API-Key'
  for (const path of ['/api/users', '/api/users?version=v2', '/api/users?version=latest']) {
    assert.equal((await get(path)).headers.vary, open, path)
  }
})

const publicList = (name: string, isExported: boolean) =>
  resource(name, {
    fields: { id: f.id(), title: f.string() },
    list: { filter: [], sort: [] },
    access: { read: 'public', create: `${name}:write`, update: false, delete: false },
    events: [],
    export: isExported,
  })
const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const resources = [publicList('notes', false), publicList('pages', true)]
const desk = service({ name: 'desk', versions, resources }).route({
  method: 'GET',
  path: '/reports',
  scope: 'notes:write',
  summary: 'The report',
  output: { media: ['text/csv', 'text/plain'] },
  handle: () => ({ media: 'text/csv', body: 'a,b\n' }),
})

eachService(
  'every kind of read names in `Vary` the headers that select the version',
  async (app) => {
    const open = 'Accept, X-API-Version, API-Version, Authorization, X-API-Key'
    for (const path of ['/api/notes', '/api/pages', '/api/reports']) {
      const { get } = path === '/api/reports' ? app : app.as(undefined)
      const reply = await get(path)
      assert.deepEqual([reply.status, reply.headers.vary], [200, open], path)
      const { headers } = await get(path.replace('/api', '/api/v2'))
      assert.equal(headers.vary, 'Accept, Authorization, X-API-Key', path)
    }
  },
  { service: desk },
)

eachService('the media type of a body must name the version of the path', async ({ send }) => {
  const person = JSON.stringify({ name: 'B', email: 'b@example.com' })
  const post = (path: string, version: string) =>
    send('POST', path, person, { 'content-type': vendor(version) })
  assert.equal((await post('/api/v2/users', 'v1')).body.error, 'version_conflict')
  const createReply = await post('/api/v2/users', 'v2')
  assert.equal(createReply.status, 201, createReply.text)
})

eachService('paths outside /api have no version', async ({ get }) => {
  const { status, headers } = await get('/events', { 'x-api-version': 'v9' })
  assert.deepEqual([status, headers['x-api-version']], [200, undefined])
  assert.equal(headers.vary, 'Authorization, X-API-Key', 'no header that names a version')
  assert.equal((await get('/nowhere', { 'x-api-version': 'v9' })).body.error, 'not_found')
})

const branded = service({
  name: 'branded',
  vendor: 'acme-shop',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [users],
})

eachService(
  'a service has its own vendor',
  async ({ get }) => {
    const accept = 'application/vnd.acme-shop.api.v2+json'
    const { status, headers } = await get('/api/users', { accept })
    assert.deepEqual([status, headers['x-api-version']], [200, 'v2'])
    assert.equal(headers['content-type'], accept)
    assert.equal((await get('/api/users', { accept: vendor('v2') })).status, 406)
  },
  { service: branded },
)
