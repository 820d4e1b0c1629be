/** §2.5: a node without the role api serves probes and metrics on an explicit port only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook } from '../cli/command.ts'
import { launched, serving } from '../cli/process.ts'

test('the role api alone serves the API', async (t) => {
  const { url } = await serving(t, { cwd: emptyFolder(t) }, '--no-seed', '--role', 'api')
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
})

test('the role delivery alone opens no port, and exits at a signal', async (t) => {
  const args = ['start', '--no-seed', '--role', 'delivery']
  const run = launched(t, { cwd: emptyFolder(t) }, ...args)
  await run.line((line) => line.msg === 'working')
  // In that time, another process runs from start to exit.
  const first = await Promise.race([run.ended, gatehook({ cwd: emptyFolder(t) }, '--version')])
  assert.match(first.stdout, /^\d+\.\d+\.\d+\n$/)
  run.kill('SIGTERM')
  assert.equal((await run.ended).exit, 0)
  assert.ok(!run.lines.some((line) => line.msg === 'listening'))
})

test('the role delivery alone serves probes and metrics on an explicit port', async (t) => {
  const { url } = await serving(t, { cwd: emptyFolder(t) }, '--no-seed', '--role', 'delivery')
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^gatehook_webhook_/m)
  for (const path of ['/api/v2/users', '/admin/keys', '/auth/login', '/']) {
    assert.equal((await fetch(url + path)).status, 404, path)
  }
})

test('an unknown role is a usage error', async (t) => {
  const { exit } = await gatehook({ cwd: emptyFolder(t) }, 'start', '--role', 'web')
  assert.equal(exit, 2)
})
