/** §4.2: refreshes at once may commit together on PostgreSQL; each rotates its own session. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Grant } from '../../src/identity/tokens/api.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { countRows, login, openTokenNode } from '../tokens/token-node.ts'

const COUNT = 32
const ofClient: Grant = { ...login, clientId: 'cli_1' }
const presenter = { clientId: 'cli_1', authenticated: true }
const indices = Array.from({ length: COUNT }, (_, at) => at)

eachMigrated('§4.2 refreshes commit together, and reuse ends its own family', async (db, t) => {
  const { tokens, time } = await openTokenNode(db, t)
  const refresh = async (token: string) => {
    const { refresh_token } = await tokens.refreshSession(token, presenter)
    return refresh_token
  }
  const open = async () => (await tokens.openSession(ofClient)).refresh_token
  const first = await Promise.all(indices.map(open))
  // The node now knows the persons of the sessions.
  const second = await Promise.all(first.map(refresh))
  const third = await Promise.all(second.map(refresh))
  assert.equal(new Set([...first, ...second, ...third]).size, 3 * COUNT)
  if (db.name === 'postgres') {
    const text = 'SELECT count(DISTINCT xmin::text) FROM gh_sessions'
    const [row] = await db.arrays({ sql: '', text, values: [] })
    assert.ok(Number(row![0]) < COUNT / 2, `${row![0]} transactions`)
  }
  time.pass(6_000)
  const attempts = [...third.slice(1), second[0]!].map(refresh)
  const outcomes = await Promise.allSettled(attempts)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    [...indices.slice(1).map(() => 'fulfilled'), 'rejected'],
  )
  assert.equal(await countRows(db, 'gh_sessions'), COUNT - 1)
  assert.equal(await countRows(db, 'gh_revocations'), 1)
  const audited = await db.all(sql`SELECT action FROM gh_audit`)
  assert.deepEqual(audited, [{ action: 'token.reuse_detected' }])
})

eachMigrated('§4.2 of two refreshes of each of many sessions one succeeds', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const refresh = (token: string) => tokens.refreshSession(token, presenter)
  const open = async () => await refresh((await tokens.openSession(ofClient)).refresh_token)
  const sessions = await Promise.all(indices.map(open))
  const pairs = sessions.flatMap(({ refresh_token }) => [refresh_token, refresh_token])
  const outcomes = await Promise.allSettled(pairs.map(refresh))
  for (const at of indices) {
    const pair = outcomes.slice(2 * at, 2 * at + 2).map(({ status }) => status)
    assert.deepEqual(pair.toSorted(), ['fulfilled', 'rejected'], `session ${at}`)
  }
  const next = outcomes.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  await Promise.all(next.map(({ refresh_token }) => refresh(refresh_token)))
})
