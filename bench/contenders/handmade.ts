/**
 * A handwritten service with one list, one row and one POST, by the best techniques: Fastify 5,
 * `node:sqlite`, prepared statements, rows as arrays.
 *
 *   --db FILE
 *   --postgres URL [--pipeline]   the list only, from `pg.Pool`, or by pipelined connections
 *   --full   the lean form + signed cursors both ways, ETag, Link, one log line, version header
 *   --store none|each|group   what POST /orders does with a valid order
 */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import Fastify, { type FastifyReply } from 'fastify'
import { pino } from 'pino'
import { announce } from './announce.ts'
import { listRoutes } from './handmade-lists.ts'
import { orderRoutes } from './handmade-orders.ts'
import { type FindKey, type Key, listRoute, openPostgres } from './handmade-postgres.ts'

const { values } = parseArgs({
  options: {
    db: { type: 'string' },
    postgres: { type: 'string' },
    pipeline: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    store: { type: 'string', default: 'none' },
  },
})
const { full } = values
const CURSOR = /(cursor=)[^&]*/
// Not Fastify's logger, which creates a child logger for each request.
const app = Fastify({
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  logger: false,
})
const db = values.db === undefined ? undefined : new DatabaseSync(values.db)
db?.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
db?.exec('PRAGMA mmap_size = 1073741824')

// Writes responses of one turn of the event loop together, as the engine does.
app.addHook('onSend', (_request, _reply, payload, done) => {
  setImmediate(() => done(null, payload))
})
const origin = { url: '' }
if (values.postgres === undefined) {
  if (db) requireKey(keysIn(db))
  if (db) listRoutes(app, db, { full, origin })
  orderRoutes(app, db, values.store)
} else {
  const source = openPostgres(values.postgres, values.pipeline)
  requireKey(source.findKey)
  listRoute(app, source, { full, origin })
}
if (full) logRequests()
origin.url = await announce(app, () => db?.close())

/** Logs one line per request, in chunks, without the values of cursors. */
function logRequests(): void {
  const chunks = { sync: false, minLength: 65_536, maxWrite: 131_072 }
  const output = pino.destination({ dest: 1, ...chunks })
  // Lines of one turn of the event loop are one text, as the engine has it (`kernel/log.ts`).
  let lines = ''
  const pass = () => {
    output.write(lines)
    lines = ''
  }
  const write = (line: string) => {
    if (lines === '') setImmediate(pass)
    lines += line
  }
  const log = pino({ base: null }, { write })
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, url } = request
    const path = url.includes('cursor=') ? url.replace(CURSOR, '$1...') : url
    const ms = Math.round(reply.elapsedTime * 100) / 100
    log.info({ id, method, path, status: reply.statusCode, ms }, 'request')
    done()
  })
}

function keysIn(db: DatabaseSync): FindKey {
  const find = db.prepare('SELECT id, scopes FROM api_keys WHERE hash = ?')
  return (hash) => find.get(hash) as unknown as Key | undefined
}

/** A key once found is remembered by its text: the hash and the look-up are paid once. */
function requireKey(find: FindKey): void {
  const cachedKeys = new Map<string, Key>()
  const allow = (principal: Key | undefined, reply: FastifyReply): boolean => {
    if (principal?.scopes.includes('users:read')) return true
    reply.code(403).send({ error: principal ? 'insufficient_scope' : 'invalid_api_key' })
    return false
  }
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.headers['x-api-key']
    if (typeof key !== 'string') {
      reply.code(401).send({ error: 'unauthorized' })
      return
    }
    const principal = cachedKeys.get(key)
    if (principal !== undefined) {
      if (allow(principal, reply)) done()
      return
    }
    Promise.resolve(find(createHash('sha256').update(key).digest())).then((row) => {
      if (row) cachedKeys.set(key, row)
      if (allow(row, reply)) done()
    }, done)
  })
}
