/** §15.4: `list` of own code returns the rows of a list endpoint, by its filters and sorts. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const DAY = Date.UTC(2026, 2, 1)
const tasks = resource('tasks', {
  fields: {
    id: f.id('ta'),
    title: f.string(),
    owner_email: f.email(),
    status: f.oneOf(['open', 'done']).default('open'),
    size: f.int(),
    price: f.decimal(8, 2),
    urgent: f.bool().default(false),
    due_at: f.time().nullable().default(null),
    metadata: f.metadata(),
  },
  list: {
    filter: ['status', 'owner_email', 'size', 'price', 'urgent', 'due_at', 'metadata'],
    prefix: ['title'],
    contains: ['title'],
    sort: ['size', 'due_at', 'status', 'price'],
  },
  access: {
    read: 'tasks:read',
    create: 'tasks:write',
    update: 'tasks:write',
    delete: 'tasks:write',
  },
  events: ['task.created'],
  softDelete: true,
})

/** The options of each case, in the values of own code. */
const cases: Record<string, object> = {
  all: {},
  equal: { filter: { status: 'done' } },
  folded: { filter: { owner_email: 'ANN@example.com' } },
  range: { filter: { size: { gte: 2, lt: 4 } } },
  other: { filter: { size: { ne: 3 } } },
  decimal: { filter: { price: '2.50' } },
  flag: { filter: { urgent: true } },
  instant: { filter: { due_at: { gt: DAY } } },
  null: { filter: { due_at: null } },
  filled: { filter: { due_at: { null: false } } },
  some: { filter: { size: { in: [1, 4, 9] } } },
  none: { filter: { size: { in: [] } } },
  begins: { filter: { title: { prefix: 'a, "' } } },
  holds: { filter: { title: { contains: '%' } } },
  entry: { filter: { metadata: { key: 'k' } } },
  two: { filter: { status: 'open', urgent: false, size: undefined } },
  sorted: { sort: '-size' },
  tuple: { sort: ['status', '-size'] },
  limited: { sort: 'size', limit: 2 },
}

const board = service({
  name: 'board',
  versions: { v1: { released: '2026-01-01' } },
  resources: [tasks],
})
  .route({
    method: 'GET',
    path: '/lists/:name',
    scope: 'tasks:read',
    summary: 'A list',
    query: { size: f.string().default('') },
    async handle({ params, query, read }) {
      const options = query.size ? { filter: { size: query.size } } : cases[params.name]!
      return { body: (await read.list(tasks, options as { limit?: number })).map((t) => t.size) }
    },
  })
  .route({
    method: 'POST',
    path: '/walks/:sort',
    scope: 'tasks:read',
    summary: 'All pages of a list',
    async handle({ params, write }) {
      const sort = params.sort as 'due_at'
      const sizes: number[] = []
      await write(async (tx) => {
        let page = await tx.list(tasks, { sort, limit: 2 })
        while (page.length > 0) {
          sizes.push(...page.map(({ size }) => size))
          page = await tx.list(tasks, { sort, limit: 2, after: page.at(-1) })
        }
      })
      return { body: sizes }
    },
  })
  .route({
    method: 'GET',
    path: '/mistakes/:name',
    scope: 'tasks:read',
    summary: 'A mistake of the code',
    async handle({ params, read }) {
      const mistakes: Record<string, object> = {
        field: { filter: { title: 'a' } },
        operator: { filter: { size: { above: 1 } } },
        sort: { sort: 'title' },
        limit: { limit: 101 },
        option: { where: {} },
        after: { after: {} },
        undefined: { filter: { size: { gt: null } } },
      }
      return { body: await read.list(tasks, mistakes[params.name] as { limit?: number }) }
    },
  })

eachService(
  'list selects, sorts and limits by the values of own code',
  async (app) => {
    const base = { owner_email: 'ann@example.com', price: '1.00' }
    const rows = [
      { title: 'a, "x"', size: 1, due_at: new Date(DAY).toISOString(), metadata: { key: 'k' } },
      { title: 'b%', size: 2, due_at: new Date(DAY + 1).toISOString(), urgent: true },
      { title: 'ab', size: 3, status: 'done', owner_email: 'bob@example.com' },
      { title: 'c', size: 4, price: '2.50' },
      { title: 'gone', size: 5 },
    ]
    let last = ''
    for (const row of rows) last = (await app.post('/api/v1/tasks', { ...base, ...row })).body.id
    await app.delete(`/api/v1/tasks/${last}`)
    const expected: Record<string, number[]> = {
      all: [1, 2, 3, 4],
      equal: [3],
      folded: [1, 2, 4],
      range: [2, 3],
      other: [1, 2, 4],
      decimal: [4],
      flag: [2],
      instant: [2],
      null: [3, 4],
      filled: [1, 2],
      some: [1, 4],
      none: [],
      begins: [1],
      holds: [2],
      entry: [1],
      two: [1, 4],
      sorted: [4, 3, 2, 1],
      tuple: [3, 4, 2, 1],
      limited: [1, 2],
    }
    for (const [name, sizes] of Object.entries(expected)) {
      assert.deepEqual((await app.get(`/api/v1/lists/${name}`)).body, sizes, name)
    }
    const walks = {
      '-size': [4, 3, 2, 1],
      due_at: [1, 2, 3, 4],
      '-due_at': [4, 3, 2, 1],
      status: [3, 1, 2, 4],
    }
    for (const [sort, sizes] of Object.entries(walks)) {
      assert.deepEqual((await app.post(`/api/v1/walks/${sort}`)).body, sizes, sort)
    }
  },
  { service: board },
)

eachService(
  'a value of a caller that the field cannot have is 400, a mistake of the code 500',
  async (app) => {
    const { status, body } = await app.get('/api/v1/lists/x?size=many')
    assert.deepEqual([status, body.error], [400, 'invalid_parameter'])
    for (const name of ['field', 'operator', 'sort', 'limit', 'option', 'after', 'undefined']) {
      assert.equal((await app.get(`/api/v1/mistakes/${name}`)).status, 500, name)
    }
  },
  { service: board },
)
