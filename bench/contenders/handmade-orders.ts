/** POST /orders, handwritten: no store, one commit each, or one commit for all waiting orders. */
import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'

interface NewOrder {
  user_id: number
  amount: number
  currency: string
  note?: string | null
}

const schema = {
  params: { type: 'object', properties: { version: { enum: ['v1', 'v2'] } } },
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['user_id', 'amount', 'currency'],
    properties: {
      user_id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      amount: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      currency: { type: 'string', pattern: '^[A-Z]{3}$' },
      note: { type: ['string', 'null'], maxLength: 1000 },
    },
  },
}

/** Returns the id of the stored order; undefined if its user does not exist. */
type Store = (order: NewOrder, nowMs: number) => Promise<number | undefined> | number | undefined

export function orderRoutes(app: FastifyInstance, db: DatabaseSync | undefined, kind: string) {
  const store = kind === 'none' ? counting() : (kind === 'each' ? each : grouped)(db!)
  app.post<{ Body: NewOrder; Params: { version: string } }>(
    '/api/:version/orders',
    { schema },
    async (request, reply) => {
      const nowMs = Date.now()
      const id = await store(request.body, nowMs)
      reply.type('application/json')
      if (id === undefined) {
        reply.code(422)
        return '{"error":"validation_failed"}'
      }
      reply.code(201).header('location', `/api/${request.params.version}/orders/${id}`)
      return orderJson(id, request.body, isoTime(nowMs))
    },
  )
}

function orderJson(id: number, order: NewOrder, at: string): string {
  const { user_id, amount, currency, note = null } = order
  const times = { created_at: at, updated_at: at }
  return JSON.stringify({ id, user_id, status: 'pending', amount, currency, note, ...times })
}

function counting(): Store {
  let last = 0
  return () => ++last
}

function inserting(db: DatabaseSync): (order: NewOrder, nowMs: number) => number | undefined {
  const user = db.prepare('SELECT 1 FROM users WHERE id = ?')
  const insert = db.prepare(
    `INSERT INTO orders (user_id, status, amount, currency, note, created_at, updated_at)
     VALUES (?, 'pending', ?, ?, ?, ?, ?)`,
  )
  return ({ user_id, amount, currency, note }, nowMs) => {
    if (user.get(user_id) === undefined) return undefined
    const done = insert.run(user_id, amount, currency, note ?? null, nowMs, nowMs)
    return Number(done.lastInsertRowid)
  }
}

/** Outside a transaction, `run` commits and syncs before it returns. */
const each = (db: DatabaseSync): Store => inserting(db)

interface Waiting {
  readonly order: NewOrder
  readonly nowMs: number
  readonly resolve: (id: number | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Orders of one turn of the event loop share a commit; they resolve when it is durable. */
function grouped(db: DatabaseSync): Store {
  const insert = inserting(db)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  let waiting: Waiting[] = []
  function flush(): void {
    const batch = waiting
    waiting = []
    try {
      begin.run()
      const ids = batch.map(({ order, nowMs }) => insert(order, nowMs))
      commit.run()
      for (let n = 0; n < batch.length; n++) batch[n]!.resolve(ids[n])
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      for (const order of batch) order.reject(error)
    }
  }
  return (order, nowMs) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ order, nowMs, resolve, reject }) === 1) setImmediate(flush)
    })
}
