/** §4.2: refreshes at once may commit together on PostgreSQL; each rotates its own session. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import type { Grant } from '../../src/identity/tokens/api.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { whileAvailable } from '../../src/platform/storage/storage-failure.ts'
import { countRows, login, openTokenNode } from '../tokens/token-node.ts'

const COUNT = 8
const ofClient: Grant = { ...login, clientId: 'cli_1' }
const presenter = { clientId: 'cli_1', authenticated: true }
const indices = Array.from({ length: COUNT }, (_, at) => at)

/** Repeats what a busy machine rejects with 503, which has no effect. */
const surely = async <T extends object>(run: () => Promise<T>): Promise<T> =>
  (await eventually(
    () => whileAvailable<T | undefined>(run(), undefined),
    (value) => value !== undefined,
  ))!

eachMigrated('§4.2 refreshes commit together, and reuse ends its own family', async (db, t) => {
  const { tokens, time } = await openTokenNode(db, t)
  const refresh = async (token: string) => {
    const { refresh_token } = await surely(() => tokens.refreshSession(token, presenter))
    return refresh_token
  }
  const open = async () => (await surely(() => tokens.openSession(ofClient))).refresh_token
  const rounds = [await Promise.all(indices.map(open))]
  const refreshAll = async () => {
    rounds.push(await Promise.all(rounds.at(-1)!.map(refresh)))
    if (db.name !== 'postgres') return true
    const text = 'SELECT count(DISTINCT xmin::text) FROM gh_sessions'
    const [row] = await db.arrays({ sql: '', text, values: [] })
    return Number(row![0]) < COUNT
  }
  // After a round the node knows the persons of the sessions.
  await refreshAll()
  await eventually(refreshAll, (isTogether) => isTogether)
  assert.equal(new Set(rounds.flat()).size, rounds.length * COUNT)
  time.pass(6_000)
  const attempts = [...rounds.at(-1)!.slice(1), rounds.at(-2)![0]!].map(refresh)
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
  const refresh = (token: string) => surely(() => tokens.refreshSession(token, presenter))
  const open = async () => refresh((await surely(() => tokens.openSession(ofClient))).refresh_token)
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

eachMigrated('§4.2 a repeated refresh that fails joins no group again', async (db, t) => {
  const { tokens } = await openTokenNode(db, t)
  const write = t.mock.method(db, 'write')
  /** Returns the groups that a refresh joined, and its next token. */
  const refresh = async (token: string, resources: readonly string[] = []) => {
    const groups = new Set<string>()
    write.mock.resetCalls()
    const next = await surely(() => tokens.refreshSession(token, presenter, { resources })).catch(
      () => undefined,
    )
    for (const { arguments: of } of write.mock.calls) if (of[1]?.group) groups.add(of[1].group)
    return { groups: groups.size, token: next?.refresh_token }
  }
  const first = (await surely(() => tokens.openSession(ofClient))).refresh_token
  const second = await refresh(first)
  assert.equal(second.groups, 0)
  assert.deepEqual(await refresh(first), { groups: 0, token: undefined })
  const third = await refresh(second.token!)
  assert.equal(third.groups, 1)
  assert.deepEqual(await refresh(second.token!), { groups: 0, token: undefined })
  const foreign = ['https://other.example']
  assert.deepEqual(await refresh(third.token!, foreign), { groups: 1, token: undefined })
  assert.deepEqual(await refresh(third.token!, foreign), { groups: 0, token: undefined })
  const fourth = await refresh(third.token!)
  assert.ok(fourth.token)
  assert.equal((await refresh(fourth.token)).groups, 0)
  // Another session joins groups as before.
  const other = await refresh((await surely(() => tokens.openSession(ofClient))).refresh_token)
  assert.equal((await refresh(other.token!)).groups, 1)
})
