/** `runJobs` of `gatehook/app` does all work that is due by the clock of the app. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from 'gatehook/app'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { LANES } from '../../src/platform/jobs/job.ts'
import { letterbox } from '../fixtures/letters.ts'

const DAY_S = 86_400

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`erasures, deletions, mail and purges are done without a port [${kind}]`, async (t) => {
    const env = {
      GATEHOOK_DATABASE_URL: await migratedUrl(t, kind),
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_TEST_CLOCK: '1',
    }
    const app = await openApp({ service: letterbox, env })
    onEnd(t, () => app.close())
    const senderOf = (key: string) => async (method: string, path: string, body?: unknown) => {
      const response = await app.request(path, { method, headers: { 'x-api-key': key }, body })
      const text = await response.text()
      assert.ok(response.ok, `${path}: ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    }
    const operate = senderOf(await app.createKey({ scopes: ['admin'], mode: 'live' }))
    const send = senderOf(await app.createKey({ mode: 'live' }))
    const stateOf = async (id: string) => (await operate('GET', `/admin/jobs/${id}`)).state
    const run = async () =>
      (await app.runJobs()).map((attempts) => Object.values(attempts).join(' ')).sort()
    assert.deepEqual(await run(), [])

    const person = { given_name: 'Ada', email: 'ada@example.com', profile: { city: 'Rome' } }
    const member = await operate('POST', '/admin/users', {
      ...{ ...person, interests: [], password: 'correct horse battery', mode: 'live' },
    })
    await send('POST', '/auth/password/forgot', { email: person.email })
    assert.match((await run()).join(), /^[a-z_]+ done 1$/, 'the mail')
    const address = { member_id: member.id, address: 'Via Appia', code: 'c', weight: 1 }
    const letter = await send('POST', '/api/v2/letters', address)
    await send('DELETE', `/api/v2/letters/${letter.id}`)
    assert.deepEqual(await run(), [])
    const deleted = '/api/v2/letters?deleted=true'
    assert.equal((await send('GET', deleted)).data.length, 1)
    await operate('POST', '/admin/clock', { advance_s: 31 * DAY_S })
    await run()
    assert.equal((await send('GET', deleted)).data.length, 0, 'its 30 days are over')

    const erasure = await operate('DELETE', `/admin/users/${member.id}`)
    const customer = await operate('POST', '/admin/customers', { name: 'Post' })
    await operate('DELETE', `/admin/customers/${customer.id}`)
    assert.equal(await stateOf(erasure.job_id), 'waiting')
    const attempts = await run()
    assert.equal(attempts.filter((line) => line.includes(' done ')).length, 2, attempts.join())
    assert.equal(await stateOf(erasure.job_id), 'done')
    assert.deepEqual(await run(), [])
    const { given_name } = await send('GET', `/api/v2/members/${member.id}`)
    assert.doesNotMatch(given_name, /Ada/)
    await operate('POST', '/admin/clock', { advance_s: 180 })
    assert.equal((await run()).length, 2, 'of requests that ended after the deletions')
    const waiting = await operate('GET', '/admin/jobs?state=waiting')
    assert.deepEqual(waiting.data, [], `no lane of ${Object.keys(LANES)} is left out`)
  })
}
