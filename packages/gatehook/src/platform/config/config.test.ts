import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateApiKey } from '../../kernel/api-key-format.ts'
import { systemRandom } from '../../kernel/random.ts'
import {
  ConfigError,
  type Environment,
  loadConfig,
  publicUrlOf,
  withoutPassword,
} from './config.ts'
import { flagOf, type OptionName, optionList, options } from './options.ts'

const mistakesOf = (env: Environment, flags = {}): readonly string[] => {
  try {
    loadConfig(env, flags)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.mistakes
  }
  return []
}

const SECRET = 'x'.repeat(32)
const KEY = generateApiKey(systemRandom(), 'live')
const TLS = { GATEHOOK_TLS_CERT: 'c.pem', GATEHOOK_TLS_KEY: 'k.pem' }

test('variable, property and flag of an option have the same name', () => {
  for (const [name, option] of optionList) {
    const camel = option.env
      .replace(/^GATEHOOK_/, '')
      .toLowerCase()
      .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    assert.equal(name, camel)
    assert.ok(option.sentence.endsWith('.'), option.env)
  }
  assert.equal(flagOf(options.trustProxy), '--trust-proxy')
  assert.equal(flagOf(options.secretKey), undefined)
})

test('every default is valid, and no option is required', () => {
  const config = loadConfig({})
  for (const [name, option] of optionList) {
    assert.notEqual(config[name], undefined, name)
    assert.equal(config[name] === null, option.fallback === null, name)
    assert.equal(config.sources[name], 'default')
  }
  assert.deepEqual(config.deliveryRate, { limit: 100, windowS: 1, burst: 200 })
  assert.deepEqual(config.warnings, [])
})

test('a flag takes precedence over the environment, and that over the default', () => {
  const env = { GATEHOOK_PORT: '1', GATEHOOK_HOST: ' ::1 ' }
  const config = loadConfig(env, { port: '0', strictVersion: true })
  assert.deepEqual([config.port, config.sources.port], [0, 'flag'])
  assert.deepEqual([config.host, config.sources.host], ['::1', 'environment'])
  assert.deepEqual([config.strictVersion, config.sources.strictVersion], [true, 'flag'])
})

test('an empty variable is not set, or an empty list', () => {
  const config = loadConfig({ GATEHOOK_PORT: '', GATEHOOK_BASIC_ALLOWED_CIDRS: ' ' })
  assert.deepEqual([config.port, config.sources.port], [8787, 'default'])
  assert.deepEqual(config.basicAllowedCidrs, [])
})

const validValues: [OptionName, text: string, value: unknown][] = [
  ['port', '65535', 65_535],
  ['host', '[::1]', '::1'],
  ['host', 'localhost', 'localhost'],
  ['publicUrl', 'https://API.example.com:443/', 'https://api.example.com'],
  ['publicUrl', 'http://[::1]:80', 'http://[::1]'],
  ['publicUrl', 'https://H/app/api.v1/', 'https://h/app/api.v1'],
  ['databaseUrl', 'sqlite:/var/lib/my data/x.db', 'sqlite:/var/lib/my data/x.db'],
  ['accessTokenTtlS', '1', 1],
  ['refreshGraceS', '60', 60],
  ['webhookScheduleS', '1, 2,3', [1, 2, 3]],
  ['rateLimit', '0', null],
  ['rateLimit', '5/1', { limit: 5, windowS: 1 }],
  ['deliveryRate', '10/2', { limit: 10, windowS: 2, burst: 20 }],
  ['deliveryRate', '10/2 burst 10', { limit: 10, windowS: 2, burst: 10 }],
  ['deliveryRate', '0', null],
  ['basicAllowedCidrs', '10.0.0.0/8, ::1', ['10.0.0.0/8', '::1/128']],
  ['trustProxy', '127.0.0.1', ['127.0.0.1/32']],
  ['corsOrigins', '*', '*'],
  ['corsOrigins', 'https://a.example,http://b:81', ['https://a.example', 'http://b:81']],
  ['defaultPagination', 'keyset', 'keyset'],
  ['logLevel', 'silent', 'silent'],
  ['bootstrapKey', KEY, KEY],
  ['audience', 'urn:a, https://api.example.com', ['urn:a', 'https://api.example.com']],
]

for (const [name, text, value] of validValues) {
  const label = options[name] === options.bootstrapKey ? 'a live key' : text
  test(`${options[name].env}=${label} is valid`, () => {
    assert.deepEqual(loadConfig({ [options[name].env]: text })[name], value)
  })
}

const invalidValues: [OptionName, ...texts: string[]][] = [
  ['port', '65536', '-1', '80a', '0x50', '08', '1.0', 'tcp://10.0.0.1:8787'],
  ['host', 'http://x', 'a b', '256.1.1.1', '1.2.3', 'a..b', '127.0.0.1:80', '[::1'],
  ['publicUrl', 'api.example.com', 'https://h/x?y', 'https://h?x', 'https://u:p@h', 'ftp://h'],
  ['publicUrl', 'https://h/?', 'https://h#', 'https://', 'https://h//x', 'https://h/a/../b'],
  ['publicUrl', 'https://h/x y', 'https://h/%2e', 'https://h/x#', 'https://u@h/x', 'https://h/x;'],
  ['databaseUrl', 'sqlite:', 'sqlite::memory:', 'mysql://h/d', './data.db', 'postgres://'],
  ['accessTokenTtlS', '0', '1.5', '15m', '999999999', '１'],
  ['refreshGraceS', '61'],
  ['webhookScheduleS', '1,,2', '1;2', '5s', Array(51).fill('1').join(), '2592001'],
  ['webhookTimeoutMs', '0', '1e3'],
  ['rateLimit', '0/60', '10', '10/0', '10/60/1', '-1/60', 'off', '10/86401'],
  ['deliveryRate', '10/1 burst 9', '10/1 burst', '0/1'],
  ['basicAllowedCidrs', '10.0.0.0/33', '::1/129', '10/8', 'all', '10.0.0.0/8,', 'fe80::1%eth0'],
  ['trustProxy', 'localhost', '127.0.0.1/8/8'],
  ['corsOrigins', 'https://a.example/x', '*,https://a.example', 'a.example', 'null'],
  ['strictVersion', 'true', 'yes', '2'],
  ['defaultPagination', 'Cursor', 'pages'],
  ['logLevel', 'verbose'],
  ['bootstrapKey', 'gk_live_short', generateApiKey(systemRandom(), 'test'), `${KEY}0`],
  ['secretKey', 'x'.repeat(31)],
  ['audience', 'two words'],
]

for (const [name, ...texts] of invalidValues) {
  test(`${options[name].env} rejects invalid values`, () => {
    for (const text of texts) {
      const mistakes = mistakesOf({ [options[name].env]: text })
      assert.equal(mistakes.length, 1, text)
      assert.match(mistakes[0]!, new RegExp(`^${options[name].env} .*expect`), text)
    }
  })
}

const rules: [title: string, env: Environment, mistake: RegExp | undefined][] = [
  ['plain HTTP on loopback', { GATEHOOK_HOST: '127.0.0.2' }, undefined],
  ['plain HTTP elsewhere', { GATEHOOK_HOST: '0.0.0.0' }, /plain HTTP .* in the clear/],
  ['plain HTTP on a name', { GATEHOOK_HOST: 'api.example.com' }, /plain HTTP/],
  ['TLS elsewhere', { GATEHOOK_HOST: '0.0.0.0', ...TLS }, undefined],
  ['a proxy', { GATEHOOK_HOST: '::', GATEHOOK_TRUST_PROXY: '10.0.0.1' }, undefined],
  ['a certificate alone', { GATEHOOK_TLS_CERT: 'c.pem' }, /TLS_KEY is not; TLS needs both/],
  ['a TLS key alone', { GATEHOOK_TLS_KEY: 'k.pem' }, /TLS_CERT is not; TLS needs both/],
  ['PostgreSQL without secret', { GATEHOOK_DATABASE_URL: 'postgres://h/d' }, /SECRET_KEY is not/],
  [
    'PostgreSQL with secret',
    { GATEHOOK_DATABASE_URL: 'postgresql://h/d', GATEHOOK_SECRET_KEY: SECRET },
    undefined,
  ],
  ['a test clock on loopback', { GATEHOOK_TEST_CLOCK: '1' }, undefined],
  ['a test clock elsewhere', { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_HOST: '::', ...TLS }, /_CLOCK/],
  [
    'private receivers elsewhere',
    { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_HOST: '::', ...TLS },
    /_ALLOW_PRIVATE is 1, but GATEHOOK_HOST is ::/,
  ],
  ['a misspelt name', { GATEHOOK_TRUSTED_PROXY: '::1' }, /Did you mean GATEHOOK_TRUST_PROXY\?/],
]

for (const [title, env, mistake] of rules) {
  test(`${title}: ${mistake ? 'rejected' : 'accepted'}`, () => {
    const mistakes = mistakesOf(env)
    assert.equal(mistakes.length, mistake ? 1 : 0, mistakes.join())
    if (mistake) assert.match(mistakes[0]!, mistake)
  })
}

test('an unknown name is a warning', () => {
  const { warnings } = loadConfig({ GATEHOOK_OTHER_PROGRAM: 'gk_live_hidden' })
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /^GATEHOOK_OTHER_PROGRAM is set/)
  assert.doesNotMatch(warnings[0]!, /hidden/)
})

test('a misspelt beginning of a name is a warning with the option', () => {
  for (const name of ['gatehook_port', 'GATEHOK_PORT', 'GATEHOKO_PORT']) {
    const { warnings } = loadConfig({ [name]: '1' })
    assert.deepEqual(warnings, [`${name} is set. Did you mean GATEHOOK_PORT? It is ignored.`])
  }
  const others = { GATEWAY_PORT: '1', GATE_PORT: '1', GATEHOK_OTHER: '1', NAVIGATEHOOK_PORT: '1' }
  assert.deepEqual(loadConfig(others).warnings, [])
})

test('a name that resembles the end of an OTEL_ option is a warning', () => {
  const { warnings } = loadConfig({ GATEHOOK_RTER_OTLP_ENDPOINT: 'http://localhost:4318' })
  assert.match(warnings.join(), /^GATEHOOK_RTER_OTLP_ENDPOINT is set/)
})

test('every option with a file is checked', () => {
  const files = optionList.filter(([, { kind }]) => kind.name === 'file').map(([, { env }]) => env)
  const env = Object.fromEntries(files.map((name) => [name, '/missing.pem']))
  assert(files.length >= 4)
  assert.throws(
    () => loadConfig(env, {}, () => 'no such file'),
    (error: ConfigError) => {
      assert.deepEqual(
        files.filter((name) => !error.mistakes.some((text) => text.startsWith(`${name} is`))),
        [],
      )
      return true
    },
  )
})

test('variables that only commands read cause no warning', () => {
  assert.deepEqual(loadConfig({ GATEHOOK_API_KEY: 'gk_live_hidden' }).warnings, [])
})

test('all mistakes are reported together; rules about invalid values are skipped', () => {
  const mistakes = mistakesOf({
    GATEHOOK_PORT: 'http',
    GATEHOOK_HOST: 'not a host',
    GATEHOOK_TEST_CLOCK: '1',
    GATEHOOK_DATABASE_URL: 'postgres://h/d',
    GATEHOOK_RATE_LIMTI: '1/1',
    GATEHOOK_TLS_CERT: 'c.pem',
  })
  assert.deepEqual(
    mistakes.map((sentence) => sentence.split(' ')[0]),
    [
      'GATEHOOK_HOST',
      'GATEHOOK_PORT',
      'GATEHOOK_RATE_LIMTI',
      'GATEHOOK_TLS_CERT',
      'GATEHOOK_SECRET_KEY',
    ],
  )
})

test('no message contains a secret', () => {
  const mistakes = mistakesOf({
    GATEHOOK_SECRET_KEY: 'hunter2',
    GATEHOOK_BOOTSTRAP_KEY: 'gk_live_hunter2',
    GATEHOOK_DATABASE_URL: 'postgre://gatehook:hunter2@h/d',
    GATEHOOK_PUBLIC_URL: 'https://me:hunter2@h',
  })
  assert.equal(mistakes.length, 4)
  assert.doesNotMatch(mistakes.join(), /hunter2/)
})

test('no message contains the password of a database address that cannot be parsed', () => {
  for (const password of ['hunter2/x', 'x/hunter2', 'x/@hunter2']) {
    const mistakes = mistakesOf({ GATEHOOK_DATABASE_URL: `postgres://u:${password}@db/gatehook` })
    assert.match(mistakes[0]!, /^GATEHOOK_DATABASE_URL is "postgres:\/\/…@db\/gatehook"/)
    assert.doesNotMatch(mistakes.join(), /hunter2/)
  }
})

test('an address keeps its user where it has no password', () => {
  const cases = [
    ['postgres://ada@db/app', 'postgres://ada@db/app'],
    ['postgres://db/app?user=ada', 'postgres://db/app?user=ada'],
    ['postgres://ada:hunter2@db/app', 'postgres://…@db/app'],
    ['postgres://ada:@db/app', 'postgres://…@db/app'],
    ['postgres://hunter2@x@db/app', 'postgres://…@db/app'],
    ['postgres://hunter2/x@db/app', 'postgres://…@db/app'],
    ['postgres://ada@db/app?password=hunter2', 'postgres://ada@db/app?password=…'],
    ['sqlite:./data/app.db', 'sqlite:./data/app.db'],
  ]
  for (const [address, expected] of cases) assert.equal(withoutPassword(address!), expected)
})

test('a mistake in a flag names the flag', () => {
  assert.match(mistakesOf({}, { port: 'x' })[0]!, /^--port is "x"; expected a port/)
})

test('a file that cannot be read is a mistake', () => {
  const findProblem = (file: string) => (file === 'c.pem' ? 'there is no such file' : undefined)
  assert.throws(
    () => loadConfig(TLS, {}, findProblem),
    /^ConfigError: GATEHOOK_TLS_CERT is "c.pem", which cannot be read: there is no such file\.$/,
  )
})

test('the base of links is the public URL, or the bind address', () => {
  const at = (env: Environment): string => publicUrlOf(loadConfig(env), 81)
  assert.equal(at({}), 'http://127.0.0.1:81')
  assert.equal(at({ GATEHOOK_HOST: '::1' }), 'http://[::1]:81')
  assert.equal(at({ GATEHOOK_HOST: '0.0.0.0', ...TLS }), 'https://localhost:81')
  assert.equal(at({ GATEHOOK_PUBLIC_URL: 'https://api.example.com' }), 'https://api.example.com')
})

test('an address with a password in an argument is a mistake that names the variable', () => {
  const names = ['databaseUrl', 'databaseDirectUrl', 'databaseReadUrls'] as const
  for (const name of names) {
    for (const url of [
      'postgres://u:hunter2@db.example/gatehook',
      'postgres://u:@db.example/gatehook',
      'postgres://u@db.example/gatehook?password=hunter2',
      'postgres://u@db.example/gatehook?x=1&sslpassword=hunter2',
    ]) {
      const mistakes = mistakesOf({}, { [name]: url })
      assert.ok(
        mistakes.some((text) => text.includes(options[name].env)),
        `${name} ${url}`,
      )
      assert.ok(!mistakes.join().includes('hunter2'))
    }
    const without = mistakesOf({}, { [name]: 'postgres://u@db.example:5432/gatehook?x=a@b:c' })
    assert.ok(!without.some((text) => text.includes('contains a password')), name)
  }
  assert.deepEqual(mistakesOf({ GATEHOOK_DATABASE_URL: 'sqlite:./a.db' }, {}), [])
})
