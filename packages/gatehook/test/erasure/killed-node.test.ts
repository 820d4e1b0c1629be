/**
 * §18.11: `kill -9` in the middle of a deletion loses nothing. Another process goes on, and neither
 * files, nor dumps, nor the output of the processes have a word of the customer or the person.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { jsonOf, type Place } from '../cli/command.ts'
import { type Running, serving } from '../cli/process.ts'
import { assertNotInFiles } from '../storage/canaries.ts'
import { assertNotInDump } from '../storage/dumps.ts'

const WORD = 'kanary'
const ROWS = 40

type Service = Running & { readonly url: string }

/** Kills the service, and starts another process. */
async function killed(t: TestContext, place: Place, service: Service): Promise<Service> {
  service.kill('SIGKILL')
  await service.ended
  return serving(t, place, '--no-seed')
}

const sender =
  (key: string) => async (url: string, method: string, path: string, body?: unknown) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(url + path, { method, headers, ...text })
    const json = response.status === 204 ? undefined : await response.json()
    // biome-ignore lint/suspicious/noExplicitAny: the members of each response
    return { status: response.status, body: json as any }
  }

for (const kind of ['sqlite', 'postgres'] as const satisfies readonly Kind[]) {
  test(`kill -9 during a deletion loses nothing [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const env = {
      GATEHOOK_DATABASE_URL: url,
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
      GATEHOOK_RATE_LIMIT: '0',
    }
    const place = { cwd: emptyFolder(t), env }
    await jsonOf(place, 'migrate')
    const create = ['keys', 'create', '--name', 'admin', '--scopes', 'admin']
    const admin = sender((await jsonOf(place, ...create)).key)
    const services = [await serving(t, place, '--no-seed')]
    const last = () => services.at(-1)!
    const kill = async () => void services.push(await killed(t, place, last()))
    const send = (...request: [string, string, unknown?]) => admin(last().url, ...request)

    const { body: customer } = await send('POST', '/admin/customers', { name: `${WORD} Ltd` })
    const rows = `/admin/as/${customer.id}/live/api/v2/users`
    for (let n = 0; n < ROWS; n++) {
      const user = { name: `${WORD} ${n}`, email: `${WORD}.${n}@example.com` }
      assert.equal((await send('POST', rows, user)).status, 201)
    }
    const user = { name: `${WORD} Person`, email: `${WORD}@example.com`, password: 'long enough 1' }
    const { body: person } = await send('POST', '/admin/users', user)
    const order = { user_id: person.id, amount: 100, currency: 'EUR' }
    assert.equal((await send('POST', '/admin/as/default/live/api/v2/orders', order)).status, 201)

    assert.equal((await send('DELETE', `/admin/customers/${customer.id}`)).status, 202)
    const { status, body: erasure } = await send('DELETE', `/admin/users/${person.id}`)
    assert.equal(status, 202)
    // On a slow machine, work may be done before the next look at it.
    const progress = () => send('GET', `/admin/customers/${customer.id}`)
    await eventually(progress, ({ status, body }) => status === 404 || body.deleted_rows > 0)
    await kill()
    const job = () => send('GET', `/admin/jobs/${erasure.job_id}`)
    await eventually(job, ({ body }) => ['running', 'done'].includes(body.state))
    await kill()
    const row = () => send('GET', `/admin/as/default/live/api/v2/users/${person.id}`)
    await eventually(row, ({ body }) => !body.email.includes(WORD))
    await kill()
    await eventually(job, ({ body }) => body.state === 'done')
    await eventually(progress, (reply) => reply.status === 404)
    const { body: events } = await send('GET', '/admin/as/default/live/events?type=person.erased')
    assert.equal(events.data.length, 1)

    last().kill('SIGTERM')
    await last().ended
    assert.equal((await jsonOf(place, 'audit', 'verify')).valid, true)
    if (kind === 'sqlite') assertNotInFiles(url, WORD)
    else await assertNotInDump(t, url, WORD)
    for (const service of services) {
      const { stdout, stderr } = await service.ended
      assert.ok(!`${stdout}${stderr}`.toLowerCase().includes(WORD), 'the output of a process')
    }
  })
}
