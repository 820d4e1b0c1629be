/** §7.7: sorts, filters and fields use declared columns; others give 400 with the parameter. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { everyList, fill, fillUsers, follow, idsOf, ok, refused, styles } from '../lists/rows.ts'

const users = '/api/v2/users'
const orders = '/api/v2/orders'

/** Creates eight orders of three users; ids are 1 to 8. */
async function fillOrders(app: Parameters<typeof fillUsers>[0]) {
  await fillUsers(app, 3)
  await fill(app, 'orders', 8, {
    user_id: 'n % 3 + 1',
    status: "CASE n % 2 WHEN 0 THEN 'paid' ELSE 'pending' END",
    amount: '(n % 4) * 100',
    currency: "CASE WHEN n < 4 THEN 'EUR' WHEN n < 6 THEN 'USD' ELSE 'JPY' END",
    note: "CASE n WHEN 2 THEN NULL WHEN 3 THEN 'b' WHEN 4 THEN 'B' WHEN 5 THEN 'é' ELSE 'c' END",
    created_at: '1767225600000 + n / 3 * 1000',
    updated_at: '100 - n',
  })
}

const sorts = [
  ['id', 1, 2, 3, 4, 5, 6, 7, 8],
  ['-id', 8, 7, 6, 5, 4, 3, 2, 1],
  ['user_id', 3, 6, 1, 4, 7, 2, 5, 8],
  ['-user_id', 8, 5, 2, 7, 4, 1, 6, 3],
  ['status', 2, 4, 6, 8, 1, 3, 5, 7],
  ['amount', 4, 8, 1, 5, 2, 6, 3, 7],
  ['note', 4, 3, 1, 6, 7, 8, 5, 2],
  ['-note', 2, 5, 8, 7, 6, 1, 3, 4],
  ['created_at', 1, 2, 3, 4, 5, 6, 7, 8],
  ['-created_at', 8, 7, 6, 5, 4, 3, 2, 1],
  ['-created_at,id', 6, 7, 8, 3, 4, 5, 1, 2],
  ['created_at,-id', 2, 1, 5, 4, 3, 8, 7, 6],
  ['updated_at', 8, 7, 6, 5, 4, 3, 2, 1],
  ['status,-amount', 6, 2, 8, 4, 7, 3, 5, 1],
  ['-status,amount,id', 1, 5, 3, 7, 4, 8, 2, 6],
  ['amount,-status,note,created_at', 4, 8, 1, 5, 6, 2, 3, 7],
  ['id,-amount', 1, 2, 3, 4, 5, 6, 7, 8],
] as const

eachService(
  'sort accepts declared columns, `-` for descending, and ends with the id',
  async ({ app, get }) => {
    await fillOrders(app.db)
    for (const [sort, ...expected] of sorts) {
      for (const style of ['cursor', 'offset', 'page', 'hypermedia']) {
        const path = `${orders}?sort=${sort}&pagination=${style}`
        assert.deepEqual(idsOf(await ok(get(path))), expected, path)
      }
      const walked = await follow({ get }, `${orders}?sort=${sort}&limit=3`)
      assert.deepEqual(walked.flatMap(idsOf), expected, sort)
      const paged = await follow({ get }, `${orders}?sort=${sort}&per_page=3`)
      assert.deepEqual(paged.flatMap(idsOf), expected, sort)
    }
    const names = ['', 'currency', 'Amount', 'amount ', '+amount', '--amount', 'note,', ',note']
    names.push('scope', '__proto__', 'constructor', 'amount,amount', 'amount,-amount', 'id;--', '-')
    for (const sort of names) {
      const path = `${orders}?sort=${encodeURIComponent(sort)}`
      await refused(get(path), 'invalid_parameter', 'sort')
    }
  },
)

eachService('the keyset style sorts by id', async ({ app, get }) => {
  await fillOrders(app.db)
  assert.deepEqual(idsOf(await ok(get(`${orders}?after_id=2&limit=3&sort=id`))), [3, 4, 5])
  assert.deepEqual(idsOf(await ok(get(`${orders}?after_id=2&limit=3&sort=id,-note`))), [3, 4, 5])
  for (const sort of ['-id', 'amount', 'amount,id']) {
    await refused(get(`${orders}?after_id=2&sort=${sort}`), 'invalid_parameter', 'sort')
  }
})

const filters = [
  ['id=3', 3],
  ['id[ne]=3', 1, 2, 4, 5, 6, 7, 8],
  ['user_id=1', 3, 6],
  ['user_id[in]=1,3', 2, 3, 5, 6, 8],
  ['status=paid', 2, 4, 6, 8],
  ['status[ne]=paid', 1, 3, 5, 7],
  ['status[in]=paid,shipped', 2, 4, 6, 8],
  ['amount[gt]=100', 2, 3, 6, 7],
  ['amount[gte]=100&amount[lt]=300', 1, 2, 5, 6],
  ['amount[lte]=0', 4, 8],
  ['amount[gt]=-1&amount[lte]=0', 4, 8],
  ['currency=USD', 4, 5],
  ['currency[in]=USD,EUR&status=paid', 2, 4],
  ['currency[gt]=EUR', 4, 5, 6, 7, 8],
  ['created_at=2026-01-01T00:00:01Z', 3, 4, 5],
  ['created_at[gte]=2026-01-01T00:00:01.000Z', 3, 4, 5, 6, 7, 8],
  ['created_at[lt]=2026-01-01T01:00:02%2B01:00', 1, 2, 3, 4, 5],
  ['created_at[gt]=2026-01-02'],
  ['amount=12345'],
] as const

eachService(
  'every filter operator works in every style, with exact totals',
  async ({ app, get }) => {
    await fillOrders(app.db)
    for (const [filter, ...expected] of filters) {
      for (const style of styles) {
        const page = await ok(get(`${orders}?${filter}&pagination=${style}`))
        assert.deepEqual(idsOf(page), expected, `${filter} ${style}`)
        const total = page.body.total ?? page.body.meta?.total ?? expected.length
        assert.equal(total, expected.length)
      }
      const walked = await follow({ get }, `${orders}?${filter}&limit=2`)
      assert.deepEqual(walked.flatMap(idsOf), expected, filter)
    }
  },
)

const bad = [
  ['note=b', 'unknown_parameter'],
  ['updated_at=1', 'unknown_parameter'],
  ['colour=red', 'unknown_parameter'],
  ['scope=2', 'unknown_parameter'],
  ['Amount=1', 'unknown_parameter'],
  ['amount[]=1', 'unknown_parameter'],
  ['amount[gte=1', 'unknown_parameter'],
  ['amount[gte][lt]=1', 'unknown_parameter'],
  ['__proto__=1', 'unknown_parameter'],
  ['constructor[gt]=1', 'unknown_parameter'],
  ['=1', 'unknown_parameter'],
  ['amount[eq]=1', 'invalid_parameter'],
  ['amount[like]=1', 'invalid_parameter'],
  ['amount[constructor]=1', 'invalid_parameter'],
  ['amount=', 'invalid_parameter'],
  ['amount=0x10', 'invalid_parameter'],
  ['amount=01', 'invalid_parameter'],
  ['amount=1.5', 'invalid_parameter'],
  ['amount=1e16', 'invalid_parameter'],
  ['amount=9007199254740993', 'invalid_parameter'],
  ['amount=1,2', 'invalid_parameter'],
  ['amount[in]=1,', 'invalid_parameter'],
  [`amount[in]=${'1,'.repeat(100)}1`, 'invalid_parameter'],
  ['status=PAID', 'invalid_parameter'],
  ['status[in]=paid,lost', 'invalid_parameter'],
  ['created_at=yesterday', 'invalid_parameter'],
  ['created_at=2026-02-30', 'invalid_parameter'],
  ['created_at=1767225600000', 'invalid_parameter'],
] as const

eachService('an invalid filter or value gives 400 with the parameter', async ({ app, get }) => {
  await fillOrders(app.db)
  for (const [query, code] of bad) {
    const name = query.slice(0, query.indexOf('='))
    const sent = `${encodeURIComponent(name)}${query.slice(name.length)}`
    await refused(get(`${orders}?${sent}`), code, name)
  }
})

eachService('unknown parameters are rejected on every list path', async (service) => {
  for (const { path, caller } of await everyList(service)) {
    for (const name of ['colour', 'Limit', 'limit[]', 'toString', 'data', '_links']) {
      const query = `${encodeURIComponent(name)}=1`
      await refused(caller.get(`${path}?${query}`), 'unknown_parameter', name)
    }
  }
})

eachService('fields selects the members of items in every style', async ({ app, get }) => {
  await fillOrders(app.db)
  for (const style of styles) {
    const page = await ok(get(`${orders}?fields=status,id&pagination=${style}`))
    const linked = style === 'hypermedia' ? ['_links'] : []
    assert.deepEqual(Object.keys(page.body.data[0]), ['id', 'status', ...linked])
  }
  // An unselected field can still sort and filter.
  const sorted = await ok(get(`${orders}?fields=id&sort=-amount&status=paid`))
  assert.deepEqual(sorted.body.data, [{ id: 6 }, { id: 2 }, { id: 8 }, { id: 4 }])
  for (const fields of ['', 'id,', 'ID', 'scope', '_links', '__proto__', 'toString', '*']) {
    await refused(get(`${orders}?fields=${fields}`), 'invalid_parameter', 'fields')
  }
})

eachService('every declared sort and field of a list works', async (service) => {
  for (const { path, caller } of await everyList(service)) {
    const [item] = (await ok(caller.get(path))).body.data
    for (const name of Object.keys(item)) {
      const reply = await ok(caller.get(`${path}?fields=${name}`))
      assert.deepEqual(Object.keys(reply.body.data[0]), [name])
      for (const direction of ['', '-']) {
        const sorted = await caller.get(`${path}?sort=${direction}${name}&limit=2`)
        if (sorted.status === 400) continue // not a declared sort
        const ids = (await ok(caller.get(path))).body.data.length
        const walked = await follow(caller, `${path}?sort=${direction}${name}&limit=2`)
        assert.equal(new Set(walked.flatMap(idsOf)).size, ids, `${path} ${name}`)
      }
    }
  }
})

eachService('e-mail addresses compare without case (§6.8)', async ({ get, post }) => {
  for (const email of ['Ada@Example.com', 'bob@example.com', 'CY@EXAMPLE.COM']) {
    assert.equal((await post(users, { name: email, email })).status, 201)
  }
  assert.deepEqual(idsOf(await ok(get(`${users}?email=ADA@example.COM`))), [1])
  assert.deepEqual(
    idsOf(await ok(get(`${users}?email[in]=BOB@example.com,cy@example.com`))),
    [2, 3],
  )
  assert.deepEqual(idsOf(await ok(get(`${users}?email[ne]=cy@example.com`))), [1, 2])
  assert.deepEqual(idsOf(await ok(get(`${users}?email[gt]=B`))), [2, 3])
  // Text sorts by bytes, so capitals are first.
  assert.deepEqual(idsOf(await ok(get(`${users}?sort=email`))), [1, 3, 2])
})

eachService('a rejection names the mistakes of all parameters, at most ten', async ({ get }) => {
  const { status, body } = await get('/api/v2/users?limit=0&sort=nope&fields=no&_=1')
  assert.deepEqual([status, body.error], [400, 'invalid_parameter'])
  const parameters = body.errors.map(({ parameter }: { readonly parameter: string }) => parameter)
  assert.deepEqual(parameters, ['limit', '_', 'sort', 'fields'])
  for (const { message } of body.errors) assert.ok(body.message.includes(message))
  const many = Array.from({ length: 30 }, (_, n) => `unknown_${n}=1`).join('&')
  assert.equal((await get(`/api/v2/users?${many}`)).body.errors.length, 10)
})
