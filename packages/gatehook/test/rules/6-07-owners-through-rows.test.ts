/** §6.7: `.ownedBy()`, resources that are closed or open to persons, references of persons. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { shop } from '../fixtures/shop.ts'
import { bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const SHOP = { service: shop }

/** Signs in a person with every resource scope except `…:all`, and `more`. */
async function personOf(service: TestApp, name: string, ...more: string[]) {
  const { operator, token, anonymous } = await openPeople(service)
  const scopes = [...service.app.administration.scopes].filter((scope) =>
    /^(members|carts|items|remarks|shelves|plans|polls|news):(read|write)$/.test(scope),
  )
  const body = { email: emailOf(name), password: PASSWORD, mode: 'test' }
  const createReply = await operator.post('/admin/users', { ...body, scopes: [...scopes, ...more] })
  assert.equal(createReply.status, 201, createReply.text)
  const sent = bearerOf(await token(emailOf(name)))
  const send: Caller['send'] = (method, path, input, headers) =>
    anonymous.send(method, path, input, { ...sent, ...headers })
  return {
    id: createReply.body.id as number,
    send,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers),
    post: (path: string, input?: unknown) => send('POST', path, input),
    patch: (path: string, input: unknown) => send('PATCH', path, input),
  }
}

const ids = (body: { data: { id: number }[] }) => body.data.map((row) => row.id)

async function createRow(
  { post }: Pick<Caller, 'post'>,
  path: string,
  body: object,
): Promise<number> {
  const reply = await post(`/api/v2/${path}`, body)
  assert.equal(reply.status, 201, reply.text)
  return reply.body.id
}

eachService(
  'a row has the owner of the row it refers to, at any distance',
  async (service) => {
    const [ada, bob] = [await personOf(service, 'ada'), await personOf(service, 'bob')]
    const rows: Record<string, { items: number; remarks: number; cart: number }> = {}
    for (const [name, who] of Object.entries({ ada, bob })) {
      const cart = await createRow(service, 'carts', { member_id: who.id })
      const item = await createRow(service, 'items', { cart_id: cart, title: name })
      const remark = await createRow(service, 'remarks', { item_id: item, text: name })
      rows[name] = { cart, items: item, remarks: remark }
    }
    await createRow(service, 'remarks', { text: 'of no item' })
    for (const version of ['v1', 'v2']) {
      for (const collection of ['items', 'remarks'] as const) {
        const path = `/api/${version}/${collection}`
        const [mine, theirs] = [rows.ada![collection], rows.bob![collection]]
        for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
          const { body } = await ada.get(`${path}?pagination=${style}`)
          assert.deepEqual(ids(body), [mine])
          const total = body.total ?? body.meta?.total
          if (total !== undefined) assert.equal(total, 1)
        }
        assert.deepEqual(ids((await ada.get(`${path}?id=${theirs}`)).body), [])
        assert.equal((await ada.get(`${path}/${mine}`)).status, 200)
        assert.equal((await ada.get(`${path}/${theirs}`)).status, 404)
        const name = version === 'v1' && collection === 'items' ? 'name' : 'title'
        const patch = { [collection === 'items' ? name : 'text']: 'x' }
        assert.equal((await ada.patch(`${path}/${theirs}`, patch)).status, 404)
        assert.equal((await ada.send('DELETE', `${path}/${theirs}`)).status, 404)
        assert.equal((await ada.patch(`${path}/${mine}`, patch)).status, 200)
      }
      assert.equal((await ada.post(`/api/${version}/items/${rows.bob!.items}/mark`)).status, 404)
    }
    const foreign = await ada.get(`/api/v1/items?name=bob&sort=-name&pagination=page`)
    assert.deepEqual([foreign.body.total, foreign.body.data], [0, []])
    // With a new owner of the cart, its rows have that owner too.
    const { cart, remarks } = rows.bob!
    assert.equal((await service.patch(`/api/v2/carts/${cart}`, { member_id: ada.id })).status, 200)
    assert.equal((await ada.get(`/api/v2/remarks/${remarks}`)).status, 200)
    assert.equal((await bob.get(`/api/v2/remarks/${remarks}`)).status, 404)
  },
  SHOP,
)

eachService(
  'a person cannot create or move a row for another person, nor detect its rows',
  async (service) => {
    const [ada, bob] = [await personOf(service, 'ada'), await personOf(service, 'bob')]
    const mine = await createRow(service, 'carts', { member_id: ada.id })
    const theirs = await createRow(service, 'carts', { member_id: bob.id })
    const item = await createRow(ada, 'items', { cart_id: mine, title: 'a' })
    const shelf = await createRow(service, 'shelves', {})
    const poll = await createRow(ada, 'polls', { cart_id: mine })
    const rejections: [method: string, path: string, body: object, pointer: string][] = [
      ['POST', 'items', { cart_id: theirs, title: 'a' }, '/cart_id'],
      ['PATCH', `items/${item}`, { cart_id: theirs }, '/cart_id'],
      ['POST', 'remarks', { text: 'x' }, '/item_id'],
      ['POST', 'remarks', { item_id: null, text: 'x' }, '/item_id'],
      ['POST', 'carts', { member_id: bob.id }, '/member_id'],
      ['PATCH', `carts/${mine}`, { member_id: bob.id }, '/member_id'],
      // References without ownership: rows of others, and of a closed resource.
      ['POST', 'carts', { member_id: ada.id, guest_id: bob.id }, '/guest_id'],
      ['PATCH', `carts/${mine}`, { shelf_id: shelf }, '/shelf_id'],
      ['PATCH', `polls/${poll}`, { cart_id: theirs }, '/cart_id'],
    ]
    for (const [method, path, body, pointer] of rejections) {
      const refused = await ada.send(method, `/api/v2/${path}`, body)
      assert.deepEqual(
        [refused.status, refused.body.errors?.[0]?.pointer],
        [422, pointer],
        `${method} ${path} ${refused.text}`,
      )
      // A row that does not exist gets the same response.
      const [field] = Object.entries(body).at(-1)!
      const name = pointer.slice(1)
      if (field !== name || (body as Record<string, unknown>)[name] === null) continue
      const unknown = await ada.send(method, `/api/v2/${path}`, { ...body, [name]: 999_999 })
      assert.deepEqual(unknown.body.errors, refused.body.errors)
    }
    const remark = await createRow(ada, 'remarks', { item_id: item, text: 'x' })
    const given = await ada.patch(`/api/v2/remarks/${remark}`, { item_id: null })
    assert.equal(given.status, 422)
    assert.equal((await ada.patch(`/api/v2/carts/${mine}`, { guest_id: ada.id })).status, 200)
    const chief = await personOf(service, 'chief', 'items:all', 'carts:all')
    assert.equal((await chief.patch(`/api/v2/items/${item}`, { cart_id: theirs })).status, 200)
  },
  SHOP,
)

eachService(
  'a person learns which id the field of the owner needs',
  async (service) => {
    const [ada, bob] = [await personOf(service, 'ada'), await personOf(service, 'bob')]
    const cart = await createRow(ada, 'carts', { member_id: ada.id })
    const foreign = await createRow(bob, 'carts', { member_id: bob.id })
    const own = 'must be your own id'
    const ofRow = (target: string) => `must be the id of a row of ${target} that belongs to you`
    const mistakes: [path: string, body: object, ...mistake: string[]][] = [
      ['carts', { member_id: bob.id }, '/member_id', 'not_found', own],
      ['items', { cart_id: foreign, title: 'x' }, '/cart_id', 'not_found', ofRow('carts')],
      ['remarks', { text: 'x' }, '/item_id', 'required', ofRow('items')],
      ['remarks', { text: 'x', item_id: null }, '/item_id', 'required', ofRow('items')],
      [
        'carts',
        { member_id: ada.id, shelf_id: 999 },
        '/shelf_id',
        'not_found',
        'is not the id of a row of shelves',
      ],
    ]
    for (const [path, body, pointer, code, message] of mistakes) {
      const reply = await ada.post(`/api/v2/${path}`, body)
      assert.equal(reply.status, 422, reply.text)
      assert.deepEqual(reply.body.errors, [{ pointer, code, message }])
    }
    assert.equal((await ada.patch(`/api/v2/carts/${cart}`, { member_id: bob.id })).status, 422)
    // A caller for the customer names any person, or none.
    await createRow(service, 'remarks', { text: 'x' })
  },
  SHOP,
)

eachService(
  'rows without an owner are closed to persons, unless the declaration opens them',
  async (service) => {
    const ada = await personOf(service, 'ada')
    const chief = await personOf(service, 'chief', 'shelves:all', 'plans:all')
    const client = service.as(await service.key({ scopes: ['shelves:read', 'shelves:write'] }))
    const open: Record<string, 'nothing' | 'read' | 'write'> = {
      shelves: 'nothing',
      plans: 'read',
      polls: 'write',
      news: 'read',
    }
    for (const [name, allowed] of Object.entries(open)) {
      const path = `/api/v2/${name}`
      const id = await createRow(service, name, { text: 'a' })
      const calls: [method: string, path: string, operation: 'read' | 'write', body?: object][] = [
        ['GET', path, 'read'],
        ['GET', `${path}/${id}`, 'read'],
        ['GET', `${path}/999999`, 'read'],
        ['POST', path, 'write', { text: 'b' }],
        ['POST', path, 'write', { wrong: 1 }],
        ['PATCH', `${path}/${id}`, 'write', { text: 'c' }],
        ['DELETE', `${path}/${id}`, 'write'],
      ]
      for (const [method, at, operation, body] of calls) {
        const reply = await ada.send(method, at, body)
        const isOpen = allowed === 'write' || (allowed === 'read' && operation === 'read')
        if (isOpen) assert.notEqual(reply.status, 403, `${method} ${at}`)
        else {
          assert.deepEqual([reply.status, reply.body.error], [403, 'insufficient_scope'])
          assert.match(reply.body.message, new RegExp(`${name}:all`))
        }
      }
    }
    for (const path of ['shelves', 'plans']) {
      assert.equal((await chief.get(`/api/v2/${path}`)).status, 200)
      assert.equal((await chief.post(`/api/v2/${path}`, {})).status, 201)
    }
    assert.equal((await client.get('/api/v2/shelves')).status, 200)
    const { data } = (await service.get('/api/v2/shelves')).body
    assert.deepEqual(
      data.map(({ text }: { text: string }) => text),
      ['a', ''],
    )
  },
  SHOP,
)

eachService(
  'a person has the scopes of its own rows by default',
  async (service) => {
    const { operator } = await openPeople(service)
    const body = { email: emailOf('ada'), password: PASSWORD, mode: 'test' }
    assert.deepEqual((await operator.post('/admin/users', body)).body.scopes, [
      'members:read',
      'carts:read',
      'carts:write',
      'items:read',
      'items:write',
      'remarks:read',
      'remarks:write',
    ])
  },
  SHOP,
)
