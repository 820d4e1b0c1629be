/** `runJobs` of `gatehook/app`: jobs of own code run in a test without `listen`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from 'gatehook/app'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { errands, faults } from '../fixtures/errands.ts'

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`due jobs run without a port, and those that fail wait [${kind}]`, async (t) => {
    const env = {
      GATEHOOK_DATABASE_URL: await migratedUrl(t, kind),
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_TEST_CLOCK: '1',
    }
    const app = await openApp({ service: errands, env })
    onEnd(t, () => app.close())
    const senderOf = (key: string) => async (path: string, body?: unknown) => {
      const method = body === undefined ? 'GET' : 'POST'
      const response = await app.request(path, { method, headers: { 'x-api-key': key }, body })
      assert.ok(response.ok, path)
      return (await response.json()) as {
        id: number
        now: string
        data: { text: string }[]
      }
    }
    const send = senderOf(await app.createKey())
    const operate = senderOf(await app.createKey({ scopes: ['admin'], mode: 'live' }))
    const notes = async () =>
      (await send('/api/v1/notes?sort=id')).data.map(({ text }) => text.replace(/^\d\d:00: /, ''))
    const bySubject = (attempts: readonly object[]) =>
      attempts.map((attempt) => Object.values(attempt).join(' ')).sort()

    // Into the next hour, when the recurring job is due, as after a start.
    const { now } = await operate('/admin/clock')
    const advance_s = 3_601 - (Math.floor(Date.parse(now) / 1000) % 3_600)
    await operate('/admin/clock', { advance_s })
    assert.deepEqual(bySubject(await app.runJobs()), ['count_orders done 1'])
    assert.deepEqual(await app.runJobs(), [])
    const { id } = await send('/api/v1/orders', { total: 7 })
    assert.deepEqual(await notes(), [])
    const written = t.mock.method(process.stderr, 'write', () => true)
    faults.set('send_receipt', [new Error('no paper')])
    await send(`/api/v1/orders/${id}/receipt`, {})
    assert.deepEqual(bySubject(await app.runJobs()), [
      'order.created done 1',
      'send_receipt retried 1',
    ])
    const [line, ...others] = written.mock.calls.map(({ arguments: [text] }) => String(text))
    written.mock.restore()
    assert.match(line!, /"a job failed"/)
    assert.match(line!, /no paper/)
    assert.deepEqual(others, [])
    assert.deepEqual(await notes(), [`created ${id}: 7 new`])
    assert.deepEqual(await app.runJobs(), [])

    await operate('/admin/clock', { advance_s: 3_600 })
    assert.deepEqual(bySubject(await app.runJobs()), ['count_orders done 1', 'send_receipt done 1'])
    assert.deepEqual((await notes()).sort(), [
      '1 orders',
      `created ${id}: 7 new`,
      'test receipt 7 × 1, attempt 2',
    ])
  })
}
