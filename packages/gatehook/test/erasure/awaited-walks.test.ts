/** §18.11: a deletion that a program waits for, such as `runJobs()`, pauses for no other. */
import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import timers from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openApp } from '../../src/embedded.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { SETTLE_MS } from '../../src/operate/erasure/slices.ts'

const members = resource('members', {
  fields: { id: f.id(), email: f.email().unique(), name: f.string().personal() },
  list: { filter: [], sort: [] },
  access: { read: 'm:read', create: 'm:write', update: 'm:write', delete: false },
  events: [],
}).signsIn({ username: 'email' })

const api = service({
  name: 'Club',
  versions: { v1: { released: '2026-01-01' } },
  resources: [members],
})

test('runJobs() erases without pauses', async (t) => {
  const pauses: number[] = []
  const { setTimeout: wait } = timers
  timers.setTimeout = ((ms, ...rest) => {
    if (ms !== undefined) pauses.push(ms)
    return wait(ms, ...rest)
  }) as typeof wait
  syncBuiltinESMExports()
  onEnd(t, () => {
    timers.setTimeout = wait
    syncBuiltinESMExports()
  })
  const app = await openApp({ service: api })
  onEnd(t, () => app.close())
  const key = await app.createKey({ scopes: ['admin'], mode: 'live' })
  const operate = async (method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const reply = await app.request(path, { method, headers, ...(body && { body }) })
    assert.ok(reply.status < 300, `${path} ${reply.status} ${await reply.clone().text()}`)
    return reply.status === 204 ? {} : ((await reply.json()) as Readonly<Record<string, string>>)
  }
  const password = 'correct horse battery'
  const person = { email: 'ada@example.com', name: 'Ada', password, mode: 'live' }
  const { id } = await operate('POST', '/admin/users', person)
  const customer = await operate('POST', '/admin/customers', { name: 'Post' })
  await operate('DELETE', `/admin/users/${id}`)
  await operate('DELETE', `/admin/customers/${customer.id}`)
  pauses.length = 0
  const attempts = await app.runJobs()
  assert.equal(attempts.filter(({ outcome }) => outcome === 'done').length, 2)
  assert.ok(!pauses.includes(SETTLE_MS), pauses.join())
})
