/** The handwritten list on PostgreSQL: named statements, rows as arrays, the same cursors. */
import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { type Anchor, plainCursors, signedCursors } from './handmade-cursors.ts'
import {
  answer,
  COLUMNS,
  ends,
  envelope,
  type ListOptions,
  link,
  listSchema,
  pageOf,
  type Query,
  type UserRow,
} from './handmade-lists.ts'

export interface Key {
  readonly id: string
  readonly scopes: string
}

export type FindKey = (hash: Buffer) => Key | undefined | Promise<Key | undefined>

export interface Source {
  readonly findKey: FindKey
  rows(sort: string, anchor: Anchor | undefined, limit: number): Promise<UserRow[]>
}

/** The fastest number of connections: more cost the server more time. */
const POOL_SIZE = 10
const PIPELINES = 4
const INT8 = 20

/** Opens a pool; with `pipeline`, four connections that queue several statements each. */
export function openPostgres(url: string, pipeline: boolean): Source {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  } as pg.CustomTypesConfig
  const config = { connectionString: url, types }
  const query = pipeline ? pipelined(config) : pooled(config)
  return {
    async findKey(hash) {
      const text = 'SELECT id, scopes FROM api_keys WHERE hash = $1'
      const [row] = await query({ name: 'key', text, values: [hash], rowMode: 'array' })
      return row && { id: String(row[0]), scopes: String(row[1]) }
    },
    async rows(sort, anchor, limit) {
      const name = `${sort} ${anchor ? (anchor.back ? 'back' : 'on') : 'first'} ${limit}`
      const byId = sort.endsWith('id')
      const values = !anchor ? [] : byId ? [anchor.id] : [anchor.id, anchor.createdAt]
      let text = texts.get(name)
      if (text === undefined) texts.set(name, (text = textOf(sort, anchor, limit)))
      return (await query({ name, text, values, rowMode: 'array' })) as UserRow[]
    },
  }
}

type Run = (config: pg.QueryArrayConfig) => Promise<unknown[][]>

function pooled(config: pg.PoolConfig): Run {
  const pool = new pg.Pool({ ...config, max: POOL_SIZE })
  return async (query) => (await pool.query(query)).rows
}

/** Sends each statement on the connection with the fewest pending ones. */
function pipelined(config: pg.ClientConfig): Run {
  const lanes = Array.from({ length: PIPELINES }, () => {
    const client = new pg.Client({ ...config, pipeline: true } as pg.ClientConfig)
    return { client, opened: client.connect(), waiting: 0 }
  })
  return async (query) => {
    const lane = lanes.reduce((best, other) => (other.waiting < best.waiting ? other : best))
    lane.waiting++
    try {
      await lane.opened
      gather(lane.client)
      return (await lane.client.query(query)).rows
    } finally {
      lane.waiting--
    }
  }
}

/** Writes statements of one turn of the event loop together, as the engine does. */
function gather({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

const texts = new Map<string, string>()

/** PostgreSQL plans a statement with a constant LIMIT once, with a bound one in each run. */
function textOf(sort: string, anchor: Anchor | undefined, limit: number): string {
  const up = sort.startsWith('-') === (anchor?.back ?? false)
  const [direction, past] = up ? ['ASC', '>'] : ['DESC', '<']
  const byId = sort.endsWith('id')
  const order = `${byId ? '' : `created_at ${direction}, `}id ${direction} LIMIT ${limit}`
  if (!anchor) return `${COLUMNS} ORDER BY ${order}`
  if (byId) return `${COLUMNS} WHERE id ${past} $1 ORDER BY ${order}`
  // PostgreSQL seeks on both columns of a row value.
  return `${COLUMNS} WHERE (created_at, id) ${past} ($2, $1) ORDER BY ${order}`
}

export function listRoute(app: FastifyInstance, source: Source, options: ListOptions): void {
  const { full, origin } = options
  const cursors = full ? signedCursors() : plainCursors()
  app.get<{ Querystring: Query; Params: { version: string } }>(
    '/api/:version/users',
    { schema: listSchema },
    (request, reply) => {
      const { query } = request
      const size = query.limit === undefined ? 20 : Number(query.limit)
      const sort = query.sort ?? 'id'
      const anchor = query.cursor === undefined ? undefined : cursors.decode(query.cursor, sort)
      if (anchor === null) {
        reply.code(400).send({ error: 'invalid_cursor' })
        return
      }
      source.rows(sort, anchor, size + 1).then(
        (rows) => {
          const page = pageOf(rows, anchor, size)
          const { next, prev } = ends(cursors, sort, page, full)
          if (full) reply.header('link', link(origin.url, request.url, query, next, prev))
          answer(envelope(page.rows, next, prev), request.params, reply, full)
        },
        (error) => reply.send(error),
      )
    },
  )
}
