/**
 * §9.1: a host name that leads to a refused address has the answer of a name that does not exist,
 * at every entry point: callers cannot find out which names the network of the server has.
 */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { finishedLog, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

/** The name of this machine, which leads to its own addresses, and one that does not exist. */
const NAMES = [hostname(), 'no-such-name.invalid'] as const

/** Returns a response without the members that differ in each response. */
function comparable(body: Record<string, unknown>): Record<string, unknown> {
  const { request_id: _, event_id: _2, delivery_id: _3, duration_ms: _4, ...others } = body
  return others
}

test('registration, change, test and delivery log have the same answer', async (t) => {
  const url = await migratedUrl(t, 'sqlite')
  const hook = await openHook(t)
  const open = await openService(t, 'sqlite', { url, ...LOCAL })
  const { id } = (await register(open, hook)).body
  await open.app.close()
  const strict = await openService(t, 'sqlite', {
    url,
    env: { GATEHOOK_WEBHOOK_SCHEDULE_S: '1' },
  })
  await strict.app.work()
  const answers = []
  for (const name of NAMES) {
    const target = { url: `https://${name}/hooks` }
    const created = await register(strict, target)
    const changed = await strict.patch(`/webhooks/${id}`, target)
    for (const { status, body } of [created, changed]) {
      assert.deepEqual([status, body.error], [422, 'url_unreachable'])
      assert.equal(body.errors[0].code, 'address')
    }
    // A name that had another address when it was registered.
    await strict.app.db.write((tx) =>
      tx.run(sql`UPDATE gh_webhooks SET url = ${target.url} WHERE id = ${id}`),
    )
    const tested = await strict.post(`/webhooks/${id}/test`, { event_type: 'order.paid' })
    assert.match(tested.body.error, /^address: /)
    await pay(strict, 1)
    const log = await finishedLog(strict, id)
    answers.push({
      created: comparable(created.body),
      changed: comparable(changed.body),
      tested: comparable(tested.body),
      errors: log.at(-1).attempts.map(({ error }: { error: string }) => error),
    })
  }
  assert.deepEqual(answers[0], answers[1])
})
