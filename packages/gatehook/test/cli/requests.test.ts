/** `gatehook requests` and `gatehook logs`, against a running node and its database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { breath } from '../../../../test/rig/eventually.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { gatehook, jsonOf } from './command.ts'
import { launched, serving } from './process.ts'

test('a rejected request is found, explained and followed by command line', async (t) => {
  const key = generateApiKey(systemRandom(), 'live')
  const cwd = emptyFolder(t)
  const run = await serving(t, { cwd, env: { GATEHOOK_BOOTSTRAP_KEY: key } }, '--no-seed')
  const get = async (path: string) => {
    const reply = await fetch(run.url + path, { headers: { 'x-api-key': key } })
    await reply.arrayBuffer()
    return reply.headers.get('x-request-id')!
  }
  const remote = { cwd, env: { GATEHOOK_API_KEY: key } }
  const url = ['--url', run.url]
  const route = ['--route', '/api/users/:id']
  const live = launched(t, remote, 'logs', '--follow', '--json', '--status', '404', ...url)
  const ids: string[] = []
  // The stream opens after the command has started: requests repeat until one is in it.
  const first = live.line(({ id }) => ids.includes(String(id)))
  let isFound = false
  first.then(() => (isFound = true)).catch(() => undefined)
  while (!isFound) {
    await get('/api/v2/users')
    ids.push(await get('/api/v2/users/999'))
    await breath()
  }
  assert.equal((await first).status, 404)
  assert.deepEqual([...new Set(live.lines.map(({ status }) => status))], [404])
  live.kill('SIGINT')
  assert.equal((await live.ended).exit, 0)

  const { data } = await jsonOf(remote, 'requests', '--status', '404', '--count', '1', ...url)
  assert.deepEqual(
    data.map(({ id, error }: { id: string; error: string }) => [id, error]),
    [[ids.at(-1), 'not_found']],
  )
  const detail = await gatehook(remote, 'requests', 'show', ids.at(-1)!, ...url)
  assert.equal(detail.exit, 0, detail.stderr)
  assert.match(detail.stdout, /GET \/api\/v2\/users\/999 .*404.* not_found/)
  assert.match(detail.stdout, /rejected at {2}the operation itself/)
  const lines = await gatehook(remote, 'logs', ...route, ...url)
  assert.match(lines.stdout, /404 .* GET +\/api\/v2\/users\/999 +not_found +req_\w+\n$/)
  assert.match(
    (await gatehook(remote, 'requests', '--warnings', ...url)).stdout,
    /No such requests/,
  )
  const deprecation = await fetch(`${run.url}/admin/versions/v1`, {
    method: 'PUT',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ deprecated_at: '2026-06-01', sunset_at: '2999-01-01' }),
  })
  assert.equal(deprecation.status, 200, await deprecation.text())
  const deprecated = await get('/api/v1/users')
  const warned = await jsonOf(remote, 'requests', '--warnings', ...url)
  assert.deepEqual(
    warned.data.map(({ id }: { id: string }) => id),
    [deprecated],
  )
  const missing = await gatehook(remote, 'requests', 'show', 'req_nothing', ...url)
  assert.equal(missing.exit, 1)
  assert.match(missing.stderr, /There is no logged request req_nothing\./)
  const job = await gatehook(remote, 'jobs', 'show', 'job_nothing', ...url)
  assert.match(job.stderr, /There is no job job_nothing\./)
  run.kill('SIGTERM')
  await run.ended
  const local = await jsonOf({ cwd }, 'requests', '--error', 'not_found', ...route)
  assert.equal(local.data[0].id, ids.at(-1))
})
