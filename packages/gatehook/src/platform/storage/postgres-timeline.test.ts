/** Which servers a process trusts, by their timelines and clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client, ClientBase, ClientConfig } from 'pg'
import { createLog } from '../../kernel/log.ts'
import { placeOf } from './postgres-place.ts'
import { createServerComparison, createTimelineGuard } from './postgres-timeline.ts'

const quietLog = createLog({ level: 'silent' })

/** A server that reports a timeline; one without a cluster denies its identifier. */
function serverOf(timeline: number | null, cluster?: string): ClientBase {
  const query = async (text: string) => {
    if (text.includes('gh_timeline')) throw Object.assign(new Error('none'), { code: '42883' })
    if (!text.includes('pg_control_system')) {
      return { rows: [{ standby: timeline === null, timeline }] }
    }
    if (cluster === undefined) throw Object.assign(new Error('denied'), { code: '42501' })
    return { rows: [{ system: cluster }] }
  }
  return { query } as unknown as ClientBase
}

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
      const guard = createTimelineGuard(quietLog, placeOf({}))
      if (isRunning) await guard.verify(own, true)
      await guard.noteOther(other)
      const verified = guard.verify(own, true)
      if (isRefused) await assert.rejects(verified, /is a former primary/, `case ${n}`)
      else await verified
      assert.equal(guard.isCurrent(1) && isRefused, false, `case ${n}`)
      assert.equal(guard.isSuspect(), isRefused, `case ${n}`)
    }
  }
})

test('behind a pooler, each transaction notices a newer server', async () => {
  const guard = createTimelineGuard(quietLog, placeOf({}))
  await guard.verify(serverOf(1, 'a'), true)
  assert.equal(guard.isCurrent(1), true)
  await guard.noteOther(serverOf(2, 'a'))
  assert.equal(guard.isCurrent(1), false)
  await assert.rejects(guard.verify(serverOf(1, 'a'), true), /is a former primary/)
})

test('a comparison keeps its connections, and opens another one after a failure', async () => {
  const guard = createTimelineGuard(quietLog, placeOf({}))
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
  const { compare, close } = createServerComparison(hosts, guard, newClient)
  await compare()
  assert.equal(guard.isSuspect(), true)
  await compare()
  assert.deepEqual(opened, ['primary', 'standby'])
  isDown = true
  await compare()
  isDown = false
  await compare()
  assert.deepEqual([opened.length, closedCount], [4, 2])
  close()
  assert.equal(closedCount, 4)
})
