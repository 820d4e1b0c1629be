/** §6.14: `kill -9` of a node loses no job: another process runs it again. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { jsonOf, type Place } from '../cli/command.ts'
import { serving } from '../cli/process.ts'

const GATEHOOK = JSON.stringify(new URL('../../src/gatehook.ts', import.meta.url).href)
/** Its job ends at the second attempt only. */
const SERVICE = `
import { f, job, resource, service } from ${GATEHOOK}
const access = { read: 'r', create: 'w', update: 'w', delete: false }
const orders = resource('orders', {
  fields: { id: f.id(), state: f.string().default('new') },
  list: { filter: [], sort: ['id'] },
  access,
  events: ['order.created'],
})
const pack = job('pack', { order_id: f.int() })
export default service({
  name: 'shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [orders],
})
  .on(orders, 'order.created', ({ event, write }) =>
    write((tx) => tx.enqueue(pack, { order_id: event.data.object.id })),
  )
  .job(pack, async ({ input, attempt, write }) => {
    if (attempt === 1) await new Promise(() => {})
    await write((tx) => tx.update(orders, input.order_id, { state: 'packed' }))
  })
`

async function killNode(place: Place, t: TestContext): Promise<unknown[]> {
  await jsonOf(place, 'migrate')
  const { key } = await jsonOf(place, 'keys', 'create', '--name', 'a', '--scopes', 'r,w,admin')
  const send = (url: string, path: string, body?: unknown) =>
    fetch(url + path, {
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    }).then((response) => response.json() as Promise<Record<string, unknown>>)
  const first = await serving(t, place, '--no-seed')
  const order = await send(first.url, '/api/v1/orders', {})
  const readJobs = async (url: string) =>
    (await send(url, '/admin/jobs?name=pack')).data as Record<string, unknown>[]
  const isRunning = ([job]: Record<string, unknown>[]) => job?.state === 'running'
  await eventually(() => readJobs(first.url), isRunning)
  first.kill('SIGKILL')
  await first.ended
  const second = await serving(t, place, '--no-seed')
  const isDone = ([job]: Record<string, unknown>[]) => job?.state === 'done'
  const [job] = await eventually(() => readJobs(second.url), isDone)
  const { state } = await send(second.url, `/api/v1/orders/${order.id}`)
  second.kill('SIGTERM')
  await second.ended
  return [job!.attempt, state]
}

for (const kind of ['sqlite', 'postgres'] as const satisfies readonly Kind[]) {
  test(`kill -9 during a job loses nothing [${kind}]`, async (t) => {
    const cwd = emptyFolder(t)
    writeFileSync(join(cwd, 'service.ts'), SERVICE)
    const env = {
      GATEHOOK_DATABASE_URL: await freshUrl(t, kind),
      GATEHOOK_RATE_LIMIT: '0', // the test polls
      GATEHOOK_SECRET_KEY: 'a secret that only tests know, long enough',
    }
    const place = { cwd, env }
    assert.deepEqual(await killNode(place, t), [2, 'packed'])
  })
}
