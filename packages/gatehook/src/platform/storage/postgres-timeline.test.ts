/** Which servers a process trusts, by their timelines and clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client, ClientBase, ClientConfig } from 'pg'
import { createLog } from '../../kernel/log.ts'
import { placeOf } from './postgres-place.ts'
import { createTimelineGuard, type ServerRow } from './postgres-timeline.ts'
import { createServerComparison } from './server-comparison.ts'

const quietLog = createLog({ level: 'silent' })

/** A server that reports a timeline; one without a cluster denies its identifier. */
function serverOf(timeline: number | null, cluster: string | null = null, oid = '1'): ClientBase {
  const query = async (text: string) => {
    if (text.includes('gh_timeline')) throw Object.assign(new Error('none'), { code: '42883' })
    if (cluster === null && text.includes('pg_control_system')) {
      throw Object.assign(new Error('denied'), { code: '42501' })
    }
    const name = oid === '1' ? 'gatehook' : 'gatehook_copy'
    return { rows: [rowOf({ timeline, system: cluster, oid, name })] }
  }
  return { query } as unknown as ClientBase
}

const OF_A = { system: 'a', oid: '1', name: 'gatehook', table: null }

const rowOf = (row: Pick<ServerRow, 'timeline' | 'system' | 'oid' | 'name'>): ServerRow => ({
  standby: row.timeline === null,
  process: 1,
  table: null,
  ...row,
})

/** A transaction of the first timeline. */
const OF_FIRST = rowOf({ timeline: 1, ...OF_A })

test('a server is refused if another one of its cluster has a newer timeline', async () => {
  const cases = [
    { own: serverOf(1, 'a'), other: serverOf(2, 'a'), isRefused: true },
    { own: serverOf(2, 'a'), other: serverOf(2, 'a'), isRefused: false },
    { own: serverOf(3, 'a'), other: serverOf(2, 'a'), isRefused: false },
    { own: serverOf(1, 'a'), other: serverOf(2, 'b'), isRefused: false },
    { own: serverOf(1, 'a'), other: serverOf(null, 'a'), isRefused: false },
    { own: serverOf(1), other: serverOf(2), isRefused: true },
  ]
  for (const [n, { own, other, isRefused }] of cases.entries()) {
    for (const isRunning of [false, true]) {
      const guard = createTimelineGuard(quietLog, { place: placeOf({}) })
      if (isRunning) await guard.verify(own, true)
      await guard.noteOther(other)
      const verified = guard.verify(own, true)
      if (isRefused) await assert.rejects(verified, /is a former primary/, `case ${n}`)
      else await verified
      assert.equal(guard.isCurrent(OF_FIRST) && isRefused, false, `case ${n}`)
      assert.equal(guard.isSuspect(), isRefused, `case ${n}`)
    }
  }
})

test('behind a pooler, each transaction notices a newer server', async () => {
  const guard = createTimelineGuard(quietLog, { place: placeOf({}) })
  await guard.verify(serverOf(1, 'a'), true)
  assert.equal(guard.isCurrent(OF_FIRST), true)
  await guard.noteOther(serverOf(2, 'a'))
  assert.equal(guard.isCurrent(OF_FIRST), false)
  await assert.rejects(guard.verify(serverOf(1, 'a'), true), /is a former primary/)
})

test('a comparison keeps its connections, and opens another one after a failure', async () => {
  const guard = createTimelineGuard(quietLog, { place: placeOf({}) })
  await guard.verify(serverOf(1, 'a'), true)
  const opened: string[] = []
  let closedCount = 0
  let isDown = false
  const newClient = ({ host }: ClientConfig) => {
    opened.push(host!)
    const server = serverOf(host === 'standby' ? 2 : 1, 'a')
    const query = async (text: string) => {
      if (isDown) throw new Error('down')
      return server.query(text)
    }
    const stream = { destroy: () => closedCount++ }
    return { query, on() {}, connect: async () => {}, connection: { stream } } as unknown as Client
  }
  const hosts = ['primary', 'standby'].map((host) => ({ host }))
  const { compare, close } = createServerComparison([{ label: 'a', all: hosts }], guard, newClient)
  await compare(false)
  assert.equal(guard.isSuspect(), true)
  await compare(false)
  assert.deepEqual(opened, ['primary', 'standby'])
  isDown = true
  await compare(false)
  isDown = false
  await compare(false)
  assert.deepEqual([opened.length, closedCount], [4, 2])
  close()
  assert.equal(closedCount, 4)
})

const MISLED = /the address .* another database \(gatehook_copy, oid 2.*\(gatehook, oid 1/

test('another database is refused, of the same cluster or of another one', async () => {
  const others = [serverOf(1, 'a', '2'), serverOf(null, 'a', '2'), serverOf(1, 'b', '2')]
  for (const other of others) {
    const guard = createTimelineGuard(quietLog, { place: placeOf({}) })
    await guard.verify(serverOf(1, 'a'), true)
    await assert.rejects(guard.verify(other, false), MISLED)
    await guard.verify(serverOf(1, 'a'), true)
    const row = await guard.noteOther(other)
    assert.equal(guard.isCurrent(row), false)
    assert.match(guard.origin.describe('b', row)!, MISLED)
  }
  const guard = createTimelineGuard(quietLog, { place: placeOf({}), origin: OF_A })
  await assert.rejects(guard.verify(serverOf(1, 'b'), true), /of the cluster b\) .* cluster a\)/)
  await guard.verify(serverOf(1), true)
})
