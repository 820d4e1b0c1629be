import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { generateApiKey } from '../../kernel/api-key-format.ts'
import { systemRandom } from '../../kernel/random.ts'
import { loadConfig } from './config.ts'
import { configurationPage, describeConfig } from './describe.ts'
import { optionList } from './options.ts'

const PAGE = new URL('../../../../../docs/reference/configuration.md', import.meta.url)

test('docs/reference/configuration.md matches the table (npm run docs)', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), configurationPage())
})

test('described values, used as the environment, yield the same configuration', () => {
  const config = loadConfig({
    GATEHOOK_CORS_ORIGINS: 'https://a.example,https://b.example',
    GATEHOOK_DELIVERY_RATE: '5/1',
    GATEHOOK_RATE_LIMIT: '0',
    GATEHOOK_STRICT_VERSION: '1',
    GATEHOOK_BASIC_ALLOWED_CIDRS: '',
  })
  const env = Object.fromEntries(describeConfig(config).map((row) => [row.name, row.value ?? '']))
  const reloaded = loadConfig(env)
  for (const [name] of optionList) assert.deepEqual(reloaded[name], config[name], name)
})

test('of a secret, the description contains only whether it is set', () => {
  const key = generateApiKey(systemRandom(), 'live')
  const config = loadConfig({
    GATEHOOK_BOOTSTRAP_KEY: key,
    GATEHOOK_SECRET_KEY: 'hunter2'.repeat(5),
    GATEHOOK_DATABASE_URL: 'postgres://gatehook:hunter2@db/gatehook?sslpassword=hunter2&x=1',
  })
  const described = describeConfig(config)
  assert.doesNotMatch(JSON.stringify(described), new RegExp(`hunter2|${key}`))
  const readValue = (name: string) => described.find((row) => row.name === name)?.value
  assert.equal(readValue('GATEHOOK_SECRET_KEY'), 'set')
  assert.equal(readValue('GATEHOOK_BOOTSTRAP_KEY'), 'set')
  assert.equal(readValue('GATEHOOK_DATABASE_URL'), 'postgres://…@db/gatehook?sslpassword=…&x=1')
  assert.equal(readValue('GATEHOOK_TLS_CERT'), null)
})
