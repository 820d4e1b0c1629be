/**
 * §15: own code may run its words in parallel. A change sees those before it, the effects that a
 * savepoint undoes stay undone, and no part of a failed change commits. So rows, totals and events
 * agree, on both databases.
 */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import {
  event,
  Failure,
  f,
  fields,
  job,
  resource,
  type ServiceTx,
  service,
  unscopedSql,
} from '../../src/gatehook.ts'

const access = { read: 's:read', create: 's:write', update: 's:write', delete: 's:write' } as const

const folders = resource('folders', {
  fields: { id: f.id(), name: f.string().max(20).default('folder') },
  list: { filter: [], sort: [] },
  access,
  events: ['folder.created', 'folder.deleted'],
})
const papers = resource('papers', {
  fields: { id: f.id(), folder_id: f.ref('folders').onDelete('cascade') },
  list: { filter: [], sort: [] },
  access,
  events: ['paper.created', 'paper.deleted'],
})
/** Their reference comes after the cascade, and refuses. */
const seals = resource('seals', {
  fields: { id: f.id(), folder_id: f.ref('folders') },
  list: { filter: [], sort: [] },
  access,
  events: ['seal.created', 'seal.deleted'],
})
const count = job('count', { n: f.int() })
/** Its rule runs before the reference of a label refuses. */
const crates = resource('crates', {
  fields: { id: f.id() },
  list: { filter: [], sort: [] },
  access: false,
}).rule('delete', async ({ tx, before }) => void (await tx.enqueue(count, { n: before.id })))
const labels = resource('labels', {
  fields: { id: f.id(), crate_id: f.ref('crates') },
  list: { filter: [], sort: [] },
  access: false,
})
const notes = resource('notes', {
  fields: { id: f.id(), text: f.string().default('') },
  list: { filter: [], sort: [] },
  access,
  events: ['note.created', 'note.deleted'],
  softDelete: true,
})
const products = resource('products', {
  fields: { id: f.id(), stock: f.int().min(0) },
  list: { filter: [], sort: [] },
  access,
  events: ['product.created', 'product.updated'],
})
const sales = resource('sales', {
  fields: { id: f.id(), product_ids: f.array(f.ref('products'), { min: 1, max: 5 }) },
  list: { filter: [], sort: [] },
  access,
  events: ['sale.created'],
  batch: true,
}).rule('create', async ({ tx, lock, after }) => {
  const take = async (id: number) => {
    const { stock } = await lock(products, id)
    if (stock < 1) throw new Failure('conflict', 'None is left.')
    await tx.update(products, id, { stock: stock - 1 })
  }
  await Promise.all(after.product_ids.map(take))
})

const done = event('stock.done', fields({ n: f.int() }))

type Code = (tx: ServiceTx, row: number, missing: number) => Promise<unknown>
const caught = (change: Promise<unknown>) =>
  change.then(
    () => 'done',
    (error) => error.code,
  )
const fail = async () => {
  throw new Failure('conflict', 'No.')
}

/** Creates papers while other code of the same transaction fails, after some reads. */
const createBesideFailure =
  (reads: number): Code =>
  async (tx, row) => {
    const create = async () => {
      for (let n = 0; n < 4; n++) {
        await tx.get(folders, row)
        await tx.create(papers, { folder_id: row })
      }
    }
    const end = async () => {
      for (let n = 0; n < reads; n++) await tx.get(folders, row)
      await fail()
    }
    await Promise.all([create(), end()])
  }

/** Other rows refer to the folder with the id `row`; no folder has the id `missing`. */
const codes: Readonly<
  Record<string, { readonly run: Code; readonly status?: number; readonly expected?: unknown }>
> = {
  'an attempt for each item': {
    run: (tx, row, missing) =>
      Promise.all(
        [row, missing, row].map((folder_id) =>
          caught(tx.sql.attempt(() => tx.create(papers, { folder_id }))),
        ),
      ),
    expected: ['done', 'validation_failed', 'done'],
  },
  'an attempt that fails last': {
    run: (tx, row) =>
      Promise.all(
        [false, true, false].map((fails) =>
          caught(
            tx.sql.attempt(async () => {
              await tx.create(papers, { folder_id: row })
              if (fails) await fail()
            }),
          ),
        ),
      ),
    expected: ['done', 'conflict', 'done'],
  },
  'a change beside an attempt that fails': {
    run: (tx, row) =>
      Promise.all([
        caught(tx.create(papers, { folder_id: row })),
        caught(tx.sql.attempt(fail)),
        caught(tx.create(papers, { folder_id: row })),
      ]),
    expected: ['done', 'conflict', 'done'],
  },
  'an attempt whose parallel changes fail': {
    run: (tx, row, missing) =>
      caught(tx.sql.attempt(() => createBesideFailure(2)(tx, row, missing))),
    expected: 'conflict',
  },
  'an attempt inside an attempt': {
    run: (tx, row) =>
      tx.sql.attempt(async () => {
        const inner = tx.sql.attempt(async () => {
          await tx.create(papers, { folder_id: row })
          await fail()
        })
        return Promise.all([caught(inner), caught(tx.create(papers, { folder_id: row }))])
      }),
    expected: ['conflict', 'done'],
  },
  'code that fails at once': { run: createBesideFailure(0), status: 409 },
  'code that fails after a read': { run: createBesideFailure(1), status: 409 },
  'code that fails later': { run: createBesideFailure(5), status: 409 },
  'a deletion that fails in part': {
    run: (tx, row) => caught(tx.remove(folders, row)),
    status: 409,
  },
  'a creation that fails in part': {
    run: (tx, _, missing) => caught(tx.create(seals, { folder_id: missing })),
    status: 422,
  },
  'a deletion that fails after its rule': {
    run: async (tx) => {
      const { id } = await tx.create(crates, {})
      await tx.create(labels, { crate_id: id })
      return caught(tx.remove(crates, id))
    },
    status: 409,
  },
  'an attempt that does not await its change': {
    run: (tx, row) => tx.sql.attempt(async () => void tx.create(papers, { folder_id: row })),
    status: 500,
  },
  'an attempt that ends before its change': {
    run: (tx, row) =>
      Promise.all([
        tx.sql.attempt(() =>
          Promise.race([tx.get(folders, row), tx.create(papers, { folder_id: row })]),
        ),
        caught(tx.sql.attempt(fail)),
      ]),
    status: 500,
  },
  'an attempt whose code goes on after its end': {
    run: async (tx, row) => {
      let going: Promise<unknown> | undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      await tx.sql.attempt(async () => {
        await tx.create(papers, { folder_id: row })
        going = promise.then(() => caught(tx.create(papers, { folder_id: row })))
      })
      resolve()
      await going
    },
    status: 500,
  },
  'a statement with changes beside an attempt that fails': {
    run: async (tx) => {
      const rename = () =>
        tx.sql.all(unscopedSql`UPDATE folders SET name = 'other' WHERE id < 0 RETURNING id`)
      await Promise.all([rename(), caught(tx.sql.attempt(fail)), rename()])
    },
  },
  'a row that is deleted twice': {
    run: async (tx) => {
      const { id } = await tx.create(notes, {})
      await Promise.all([tx.remove(notes, id), tx.remove(notes, id)])
    },
    status: 404,
  },
  'twelve changes with a rule': {
    run: async (tx) => {
      const { id } = await tx.create(products, { stock: 12 })
      const sell = () => tx.create(sales, { product_ids: [id] })
      await Promise.all(Array.from({ length: 12 }, sell))
      return (await tx.get(products, id)).stock
    },
    expected: 0,
  },
}

const POST = { method: 'POST', scope: 's:write', summary: 'x' } as const
const input = { code: f.string(), row: f.int(), missing: f.int() }
const trials = service({
  name: 'trials',
  versions: { v1: { released: '2026-01-01' } },
  resources: [folders, papers, seals, crates, labels, notes, products, sales],
  events: [done],
})
  .route({
    ...POST,
    path: '/change',
    input,
    handle: async ({ input: { code, row, missing }, write }) => ({
      body: { result: await write((tx) => codes[code]!.run(tx, row, missing)) },
    }),
  })
  .route({
    ...POST,
    path: '/steps',
    steps: true,
    input,
    handle: async ({ input: { code, row, missing }, write }) => ({
      body: { result: await write('change', (tx) => codes[code]!.run(tx, row, missing)) },
    }),
  })
  .route({
    ...POST,
    path: '/repeats',
    handle: async ({ write }) => {
      const ids = await write(async (tx) => {
        const times = [1, 2, 3]
        await Promise.all(times.map((n) => tx.emit(done, { n }, { key: 'once' })))
        return Promise.all(times.map((n) => tx.enqueue(count, { n }, { key: 'once' })))
      })
      return { body: { ids: [...new Set(ids)] } }
    },
  })
  .route({
    ...POST,
    path: '/caught',
    handle: async ({ write }) => {
      const code = await caught(
        write(async (tx) => {
          await tx.create(folders, {})
          await fail()
        }),
      )
      await write((tx) => tx.create(folders, {}))
      return { body: { code } }
    },
  })
  .job(count, () => {})

const totalOf = async (app: TestApp, path: string): Promise<number> =>
  (await app.get(`${path}${path.includes('?') ? '&' : '?'}pagination=page`)).body.total

/** Verifies that each list has as many rows as its total says, and as many as its events left. */
async function verifyTotals(app: TestApp, source: string): Promise<void> {
  for (const name of ['folder', 'paper', 'seal', 'note', 'product', 'sale']) {
    const { body } = await app.get(`/api/v1/${name}s?limit=100`)
    const total = await totalOf(app, `/api/v1/${name}s`)
    const created = await totalOf(app, `/events?type=${name}.created`)
    const isKept = name === 'product' || name === 'sale'
    const deleted = isKept ? 0 : await totalOf(app, `/events?type=${name}.deleted`)
    const { length } = body.data
    assert.deepEqual([total, created - deleted], [length, length], `${source}: ${name}`)
  }
}

eachService(
  'rows, totals and events agree after any parallel words',
  async (app) => {
    const { id: row } = (await app.post('/api/v1/folders', {})).body
    await app.post('/api/v1/papers', { folder_id: row })
    await app.post('/api/v1/seals', { folder_id: row })
    for (const [code, { status = 200, expected }] of Object.entries(codes)) {
      for (const path of ['change', 'change with a key', 'steps']) {
        const source = `${code}, ${path}`
        const body = { code, row, missing: 999_999 }
        const headers =
          path === 'change' ? undefined : { 'idempotency-key': source.replaceAll(' ', '-') }
        const [route] = path.split(' ')
        const reply = await app.post(`/api/v1/${route}`, body, headers)
        // A mistake of the code of a step leaves its request unfinished.
        const answer = route === 'steps' && status === 500 ? 503 : status
        assert.equal(reply.status, answer, `${source}: ${reply.text}`)
        assert.deepEqual(reply.body.result, expected, source)
        await verifyTotals(app, source)
      }
    }
  },
  { service: trials },
)

eachService(
  'a rule of parallel words changes nothing for an item, a dry run or a request that it refuses',
  async (app) => {
    const create = async (stock: number) =>
      (await app.post('/api/v1/products', { stock })).body.id as number
    const [full, empty] = [await create(9), await create(0)]
    const refused = { product_ids: [full, full, empty] }
    const items = [{ product_ids: [full] }, refused, { product_ids: [full, empty, full] }]
    const batch = await app.post('/api/v1/sales/batch', { atomic: false, items })
    assert.equal(batch.status, 200, batch.text)
    for (const headers of [{}, { prefer: 'dry-run' }, { 'idempotency-key': 'sale' }]) {
      assert.equal((await app.post('/api/v1/sales', refused, headers)).status, 409)
    }
    assert.equal((await app.get(`/api/v1/products/${full}`)).body.stock, 8)
    assert.equal(await totalOf(app, '/events?type=product.updated'), 1)
    await verifyTotals(app, 'sales')
  },
  { service: trials },
)

eachService(
  'a repeated key adds nothing, also at the same time',
  async (app) => {
    const { body } = await app.post('/api/v1/repeats')
    assert.equal(body.ids.length, 1)
    assert.equal(await totalOf(app, '/events?type=stock.done'), 1)
  },
  { service: trials },
)

eachService(
  'a write that fails and is caught changes nothing, and the next one does',
  async (app) => {
    const { body } = await app.post('/api/v1/caught')
    assert.equal(body.code, 'conflict')
    assert.equal(await totalOf(app, '/api/v1/folders'), 1)
    await verifyTotals(app, 'writes')
  },
  { service: trials },
)
