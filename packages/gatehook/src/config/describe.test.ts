/** What people are shown: every value, no secret, and a reference page that is current. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { generateApiKey } from '../kernel/api-key-format.ts'
import { systemRandom } from '../kernel/random.ts'
import { loadConfig } from './config.ts'
import { configurationPage, describeConfig } from './describe.ts'
import { optionList } from './options.ts'

const PAGE = new URL('../../../../docs/reference/configuration.md', import.meta.url)

test('docs/reference/configuration.md is what the table says (npm run docs)', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), configurationPage())
})

test('values are shown as the environment would hold them: read again, they are the same', () => {
  const config = loadConfig({
    GATEHOOK_CORS_ORIGINS: 'https://a.example,https://b.example',
    GATEHOOK_DELIVERY_RATE: '5/1',
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_STRICT_VERSION: '1',
    GATEHOOK_BASIC_ALLOWED_CIDRS: '',
  })
  const env = Object.fromEntries(describeConfig(config).map((row) => [row.name, row.value ?? '']))
  const again = loadConfig(env)
  for (const [name] of optionList) assert.deepEqual(again[name], config[name], name)
})

test('of secrets only whether they are set is shown', () => {
  const key = generateApiKey(systemRandom(), 'live')
  const config = loadConfig({
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: 'hunter2'.repeat(5),
    GATEHOOK_DATABASE_URL: 'postgres://gatehook:hunter2@db/gatehook?sslpassword=hunter2&x=1',
  })
  const shown = describeConfig(config)
  assert.doesNotMatch(JSON.stringify(shown), new RegExp(`hunter2|${key}`))
  const shownValue = (name: string) => shown.find((row) => row.name === name)?.value
  assert.equal(shownValue('GATEHOOK_SECRET_KEY'), 'set')
  assert.equal(shownValue('GATEHOOK_BOOTSTRAP_KEY'), 'set')
  assert.equal(shownValue('GATEHOOK_DATABASE_URL'), 'postgres://…@db/gatehook?sslpassword=…&x=1')
  assert.equal(shownValue('GATEHOOK_TLS_CERT'), null)
})
