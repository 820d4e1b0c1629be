/** §2.5: a node without the role api answers probes and metrics where a port is named for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder, gatehook, launched, serving } from '../cli/process.ts'

test('the role api alone serves', async (t) => {
  const { url } = await serving(t, { cwd: emptyFolder(t) }, '--no-seed', '--role', 'api')
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
})

test('the role delivery alone opens no port, and ends at a signal', async (t) => {
  const args = ['start', '--no-seed', '--role', 'delivery']
  const run = launched(t, { cwd: emptyFolder(t) }, ...args)
  await run.line((line) => line.msg === 'working')
  // Another process has the time to live its whole life.
  const first = await Promise.race([run.ended, gatehook({ cwd: emptyFolder(t) }, '--version')])
  assert.match(first.stdout, /^\d+\.\d+\.\d+\n$/)
  run.kill('SIGTERM')
  assert.equal((await run.ended).exit, 0)
  assert.ok(!run.lines.some((line) => line.msg === 'listening'))
})

test('the role delivery alone answers probes and metrics where a port is named', async (t) => {
  const { url } = await serving(t, { cwd: emptyFolder(t) }, '--no-seed', '--role', 'delivery')
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^gatehook_webhook_/m)
  for (const path of ['/api/v2/users', '/admin/keys', '/auth/login', '/']) {
    assert.equal((await fetch(url + path)).status, 404, path)
  }
})

test('an unknown role is a mistake of usage', async (t) => {
  const { exit } = await gatehook({ cwd: emptyFolder(t) }, 'start', '--role', 'web')
  assert.equal(exit, 2)
})
