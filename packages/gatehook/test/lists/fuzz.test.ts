/**
 * Thousands of list requests with invalid values, on both databases. Each gives 200, or a
 * documented 400 code with the invalid parameter; no request gives 500 or changes a row. A failure
 * contains the seed.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { runsOf } from '../../../../test/rig/depth.ts'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { numbers, prototype, search, texts } from './invalid-queries.ts'
import { all, everyList, idsOf, type ListPath, links, ok } from './rows.ts'

const SEED = 20_261_121
const REQUESTS = runsOf(5_000)

const codes = ['invalid_parameter', 'unknown_parameter', 'pagination_conflict', 'invalid_cursor']
codes.push('cursor_mismatch', 'offset_too_large')

/** Returns the decoded names of the parameters, without those that cannot be decoded. */
function sentNames(query: string): Set<string> {
  const names = query.split('&').flatMap((part) => {
    try {
      return [decodeURIComponent(part.replace(/=.*$/s, '').replaceAll('+', ' '))]
    } catch {
      return []
    }
  })
  return new Set(names)
}

function assertValidReply(reply: Reply, query: string): void {
  if (reply.status === 200) {
    assert.ok(Array.isArray(reply.body.data))
    links(reply)
    return
  }
  if (reply.status === 414) return
  assert.equal(reply.status, 400)
  assert.ok(codes.includes(reply.body.error), reply.body.error)
  // The reply cannot contain a name that cannot be decoded.
  if (reply.body.errors === undefined) {
    assert.match(reply.body.message, /^The query string is not valid/)
    return
  }
  assert.ok(reply.body.errors.length > 0)
  const names = sentNames(query)
  assert.equal(reply.body.errors[0].code, reply.body.error)
  for (const { parameter, code, message } of reply.body.errors) {
    assert.ok(names.has(parameter), `it names ${parameter}`)
    assert.ok(codes.includes(code), code)
    assert.ok(message.length > 0)
  }
}

/** Reads the rows that a faulty list request could change. */
async function readState({ app }: TestApp): Promise<unknown> {
  const tables = ['users', 'orders', 'gh_events', 'gh_customers', 'gh_audit', 'gh_counters']
  const rows: unknown[] = []
  for (const table of tables)
    rows.push(await all(app.db, `SELECT * FROM ${table} ORDER BY 1, 2, 3`))
  return rows
}

eachService(
  'random invalid queries of every list give 200 or a documented 400',
  async (service) => {
    const lists = await everyList(service)
    const cursors = ['', 'A', 'eyJpZCI6MX0', 'eyJpZCI6MX0=']
    for (const { path, caller } of lists) {
      cursors.push((await ok(caller.get(`${path}?limit=1`))).body.next_cursor)
    }
    const before = await readState(service)
    const statuses = new Map<number, number>()
    const attempts = fc.sample(fc.tuple(fc.nat(lists.length - 1), search(cursors)), {
      seed: SEED,
      numRuns: REQUESTS,
    })
    for (const [at, query] of attempts) {
      const { path, caller } = lists[at]!
      const reply = await caller.get(`${path}?${query}`)
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      try {
        assertValidReply(reply, query)
      } catch (error) {
        throw new Error(`seed ${SEED}: GET ${path}?${query}\n${reply.text}`, { cause: error })
      }
    }
    // Both outcomes must occur often enough.
    assert.ok((statuses.get(200) ?? 0) > REQUESTS / 50, `200 to ${statuses.get(200)} requests`)
    assert.ok((statuses.get(400) ?? 0) > REQUESTS / 2)
    assert.deepEqual(await readState(service), before)
  },
)

/** The parameters that the second test combines with each invalid value. */
const parameters = [
  'limit',
  'per_page',
  'page',
  'offset',
  'after_id',
  'cursor',
  'pagination',
  'sort',
  'fields',
]

eachService(
  'each parameter with each invalid value gives 200 or a documented 400',
  async (service) => {
    const lists: readonly ListPath[] = await everyList(service)
    const before = await readState(service)
    for (const parameter of [...parameters, 'id', 'user_id[in]', 'amount[gte]', 'created_at[lt]']) {
      for (const text of [...numbers, ...texts, ...prototype]) {
        const query = `${encodeURIComponent(parameter)}=${encodeURIComponent(text)}`
        const { path, caller } = lists.find((list) => list.path === '/api/v2/orders')!
        const reply = await caller.get(`${path}?${query}`)
        assertValidReply(reply, query)
        if (reply.status === 200 && parameter === 'limit') {
          assert.ok(idsOf(reply).length <= Number(text), text)
        }
      }
    }
    assert.deepEqual(await readState(service), before)
  },
)
