/** Shared by tests of lists: bulk inserts, and walks along links and cursors. */
import assert from 'node:assert/strict'
import type { Caller, Reply, TestApp } from '../../../../test/rig/service.ts'
import { type Scope, scopeOf } from '../../src/kernel/principal.ts'
import type { Database, Row, Value } from '../../src/platform/storage/database.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { addToTotal } from '../../src/protocol/lists/counters.ts'

export const run = (db: Database, text: string, values: readonly Value[] = []): Promise<number> =>
  db.write((tx) => tx.run(prepareStatement(text)(values)))

export const all = (db: Database, text: string, values: readonly Value[] = []): Promise<Row[]> =>
  db.all(prepareStatement(text)(values))

/** Returns the scope of the default customer. */
export async function testScope(db: Database, mode: 'live' | 'test' = 'test'): Promise<Scope> {
  const [customer] = await all(db, "SELECT no FROM gh_customers WHERE id = 'cus_default'")
  return scopeOf(customer!.no, mode)
}

/**
 * Inserts `count` rows in one statement and updates the counter. `columns`: SQL over `n` (1, 2, …)
 * for each column.
 */
export async function fill(
  db: Database,
  table: string,
  count: number,
  columns: Readonly<Record<string, string>>,
): Promise<Scope> {
  const scope = await testScope(db)
  const names = ['scope', ...Object.keys(columns)].join(', ')
  const cells = [String(scope), ...Object.values(columns)].join(', ')
  await run(
    db,
    `WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < ${count})
     INSERT INTO ${table} (${names}) SELECT ${cells} FROM g`,
  )
  await db.write(async (tx) => addToTotal(tx, scope, table, 0, count))
  return scope
}

/** Inserts users `n…` with e-mails `e…@x.io`. `createdAt`: SQL over `n`. */
export const fillUsers = (db: Database, count: number, createdAt = 'n'): Promise<Scope> =>
  fill(db, 'users', count, {
    name: "'n' || n",
    email: "'e' || n || '@x.io'",
    gh_folded_email: "'e' || n || '@x.io'",
    created_at: createdAt,
  })

/** Parses the `Link` header: path and query by rel. */
export function links(reply: Reply): Record<string, string> {
  const targets: Record<string, string> = {}
  for (const part of (reply.headers.link ?? '').split(', ')) {
    const match = /^<https?:\/\/[^/]+(\/[^>]*)>; rel="([a-z]+)"$/.exec(part)
    assert.ok(match, `not a link: ${part}`)
    assert.equal(targets[match[2]!], undefined, `two links of one rel: ${part}`)
    targets[match[2]!] = match[1]!
  }
  return targets
}

export async function ok(call: Promise<Reply>): Promise<Reply> {
  const reply = await call
  assert.equal(reply.status, 200, reply.text)
  return reply
}

/** Reads all pages from `path` along one rel. */
export async function follow(
  caller: Pick<Caller, 'get'>,
  path: string,
  rel: 'next' | 'prev' = 'next',
): Promise<Reply[]> {
  const pages: Reply[] = []
  for (let at: string | undefined = path; at !== undefined; ) {
    assert.ok(pages.length < 1000, 'the walk does not end')
    const page: Reply = await ok(caller.get(at))
    pages.push(page)
    at = links(page)[rel]
  }
  return pages
}

export const idsOf = (reply: Reply): (number | string)[] =>
  reply.body.data.map((item: { id: number | string }) => item.id)

/** Asserts 400 with the code and the invalid parameters. */
export async function refused(
  call: Promise<Reply>,
  code: string,
  ...parameters: readonly string[]
): Promise<void> {
  const reply = await call
  assert.equal(reply.status, 400, reply.text)
  assert.equal(reply.body.error, code)
  const errorParameters = reply.body.errors.map((error: { parameter: string }) => error.parameter)
  for (const parameter of parameters) assert.ok(errorParameters.includes(parameter), reply.text)
}

export const styles = ['offset', 'cursor', 'keyset', 'page', 'hypermedia'] as const

export interface ListPath {
  readonly path: string
  readonly caller: Caller
  readonly integerId: boolean
}

/** Returns all list paths of the reference service; each list has at least five rows. */
export async function everyList(service: TestApp): Promise<ListPath[]> {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  for (let n = 1; n <= 6; n++) {
    const user = await service.post('/api/v2/users', { name: `n${n}`, email: `e${n}@x.io` })
    await service.post('/api/v2/orders', { user_id: user.body.id, amount: n })
    assert.equal((await operator.post('/admin/customers', { name: `c${n}` })).status, 201)
    await service.key()
  }
  const own = (path: string, integerId: boolean) => ({ path, caller: service, integerId })
  const admin = (path: string) => ({ path, caller: operator, integerId: false })
  return [
    own('/api/v1/users', true),
    own('/api/v2/users', true),
    own('/api/v1/orders', true),
    own('/api/v2/orders', true),
    own('/events', false),
    admin('/admin/customers'),
    admin('/admin/keys'),
    admin('/admin/audit'),
  ]
}
