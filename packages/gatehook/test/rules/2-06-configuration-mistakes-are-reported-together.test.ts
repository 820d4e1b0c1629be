/** §2.6: an invalid configuration is exit 78 with all mistakes; `config` prints the values. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook, sentencesOf } from '../cli/command.ts'

test('start reports all mistakes together and exits with 78', async (t) => {
  const env = {
    GATEHOOK_PORT: 'http',
    GATEHOOK_BOOTSTRAP_KEY: 'gk_live_hunter2',
    GATEHOOK_RATE_LIMTI: '5/1',
    GATEHOOK_TLS_CERT: '/no/such/cert.pem',
  }
  const { exit, stdout, ...ended } = await gatehook({ cwd: emptyFolder(t), env }, 'start')
  const stderr = sentencesOf(ended).join('\n')
  assert.equal(exit, 78)
  assert.equal(stdout, '')
  assert.match(stderr, /GATEHOOK_PORT is "http"; expected a port number/)
  assert.match(stderr, /GATEHOOK_BOOTSTRAP_KEY \(15 characters, not displayed\) expects gk_live_/)
  assert.match(stderr, /GATEHOOK_RATE_LIMTI is not an option\. Did you mean GATEHOOK_RATE_LIMIT\?/)
  assert.match(stderr, /GATEHOOK_TLS_CERT is set, GATEHOOK_TLS_KEY is not/)
  assert.match(stderr, /"\/no\/such\/cert\.pem", which cannot be read: there is no such file/)
  assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
})

test('config prints value and source of every option, without secrets', async (t) => {
  const env = {
    GATEHOOK_HOST: '::1',
    GATEHOOK_SECRET_KEY: 'hunter2'.repeat(5),
    GATEHOOK_OTHER: '1',
    GATEHOOK_URL: 'https://api.example.com',
  }
  const place = { cwd: emptyFolder(t), env }
  const { exit, stdout } = await gatehook(place, 'config', '--json', '--port', '1')
  assert.equal(exit, 0)
  assert.doesNotMatch(stdout, /hunter2/)
  const { values, warnings } = JSON.parse(stdout)
  const row = (name: string) => values.find((option: { name: string }) => option.name === name)
  assert.deepEqual([row('GATEHOOK_PORT').value, row('GATEHOOK_PORT').source], ['1', 'flag'])
  assert.equal(row('GATEHOOK_HOST').source, 'environment')
  assert.equal(row('GATEHOOK_LOG_LEVEL').source, 'default')
  assert.equal(row('GATEHOOK_SECRET_KEY').value, 'set')
  assert.equal(warnings.length, 1)
  assert.match(warnings[0], /GATEHOOK_OTHER is set, but is not an option/)
})

test('config --markdown prints the reference page', async (t) => {
  const { stdout } = await gatehook({ cwd: emptyFolder(t) }, 'config', '--markdown')
  const page = new URL('../../../../docs/reference/configuration.md', import.meta.url)
  assert.equal(stdout, readFileSync(page, 'utf8'))
})
