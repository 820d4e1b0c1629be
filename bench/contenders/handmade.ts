/**
 * What a good engineer writes by hand for one list, one row and one POST: Fastify 5, `node:sqlite`,
 * prepared statements, rows as arrays. The yardstick, so it uses the best technique we know.
 *
 *   --db FILE
 *   --full   the lean form + signed cursors both ways, ETag, Link, one log line, version header
 *   --store none|each|group   what POST /orders does with a valid order
 */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import Fastify from 'fastify'
import { pino } from 'pino'
import { announce } from './announce.ts'
import { listRoutes } from './handmade-lists.ts'
import { orderRoutes } from './handmade-orders.ts'

const { values } = parseArgs({
  options: {
    db: { type: 'string' },
    full: { type: 'boolean', default: false },
    store: { type: 'string', default: 'none' },
  },
})
const { full } = values
const CURSOR = /(cursor=)[^&]*/
// Not Fastify's logger: it would make a child logger for every request, for one line of it.
const app = Fastify({
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  logger: false,
})
const db = values.db === undefined ? undefined : new DatabaseSync(values.db)
db?.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
db?.exec('PRAGMA mmap_size = 1073741824')

// Answers of one turn go out together, as the engine's do (`http/departure.ts`).
app.addHook('onSend', (_request, _reply, payload, done) => {
  setImmediate(() => done(null, payload))
})
if (db) requireKey(db)
if (full) logRequests()
const origin = { url: '' }
if (db) listRoutes(app, db, { full, origin })
orderRoutes(app, db, values.store)
origin.url = await announce(app, () => db?.close())

/** One line a request, written in chunks off its path; of a cursor only the name. */
function logRequests(): void {
  const chunks = { sync: false, minLength: 65_536, maxWrite: 131_072 }
  const log = pino({ base: null }, pino.destination({ dest: 1, ...chunks }))
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, url } = request
    const path = url.includes('cursor=') ? url.replace(CURSOR, '$1…') : url
    const ms = Math.round(reply.elapsedTime * 100) / 100
    log.info({ id, method, path, status: reply.statusCode, ms }, 'request')
    done()
  })
}

/** A key once found is remembered by its text: the hash and the look-up are paid once. */
function requireKey(db: DatabaseSync): void {
  const find = db.prepare('SELECT id, scopes FROM api_keys WHERE hash = ?')
  const known = new Map<string, { id: string; scopes: string }>()
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.headers['x-api-key']
    if (typeof key !== 'string') {
      reply.code(401).send({ error: 'unauthorized' })
      return
    }
    let principal = known.get(key)
    if (principal === undefined) {
      const row = find.get(createHash('sha256').update(key).digest())
      if (row === undefined) {
        reply.code(403).send({ error: 'invalid_api_key' })
        return
      }
      known.set(key, (principal = row as { id: string; scopes: string }))
    }
    if (!principal.scopes.includes('users:read')) {
      reply.code(403).send({ error: 'insufficient_scope' })
      return
    }
    done()
  })
}
