import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checkNodeVersion } from './doctor-checks.ts'

test('doctor classifies the Node version', () => {
  const cases = [
    ['22.20.0', 'fail'],
    ['24.6.9', 'fail'],
    ['24.7.0', 'warn'],
    ['25.1.0', 'warn'],
    ['26.0.0', 'ok'],
    ['27.1.0', 'ok'],
  ] as const
  for (const [version, state] of cases)
    assert.equal(checkNodeVersion(version).state, state, version)
  assert.match(checkNodeVersion('24.7.0').detail, /^24\.7\.0 works; Node 26 is recommended$/)
  assert.match(checkNodeVersion('20.19.0').detail, /^20\.19\.0; Gatehook needs 24\.7 or newer$/)
})

test('doctor and package.json name the same minimum Node version', () => {
  const { engines } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const minimum = engines.node.replace('>=', '')
  assert.notEqual(checkNodeVersion(`${minimum}.0`).state, 'fail')
  const [major, minor] = minimum.split('.').map(Number)
  assert.equal(checkNodeVersion(`${major}.${minor - 1}.99`).state, 'fail')
})
