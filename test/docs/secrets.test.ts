/**
 * No page, example or template contains a secret that a program would use when none is configured:
 * readers copy examples, and a published secret authenticates anyone.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

/** The pages and programs that readers copy. */
const PLACES = [
  ...['*.md', 'docs', 'deploy', 'packages/*/README.md', 'packages/*/example'],
  ...['packages/gatehook/examples', 'packages/gatehook/service', 'packages/gatehook/template'],
  ...['packages/gatehook/src/pages/documentation', 'packages/create-gatehook'],
]

const NAME = '\\w*(?:secret|password|passphrase|api_?key|token)s?\\w*'
const TEXT = '["\'`]'
const DEFAULTS: readonly RegExp[] = [
  // `process.env.SECRET ?? 'a'`, `env['SECRET'] || 'a'`, `(SECRET ??= 'a')`
  new RegExp(`${NAME}(?:['"]\\])?\\)?\\s*(?:\\?\\?|\\|\\|)=?\\s*\\[?${TEXT}`, 'i'),
  // `const { SECRET = 'a' } = process.env`
  new RegExp(`[{,]\\s*${NAME}(?::\\s*\\w+)?\\s*=\\s*\\[?${TEXT}.*\\benv\\b`, 'i'),
  // `os.environ.get('SECRET', 'a')`, `os.getenv(…)`, `ENV.fetch(…)`
  new RegExp(`(?:get|getenv|fetch)\\(\\s*${TEXT}${NAME}${TEXT}\\s*,`, 'i'),
  // `${SECRET:-a}` of shells and Compose files
  new RegExp(`\\$\\{${NAME}:?[-=]`, 'i'),
  // `secrets: ['a']`, `secret = 'a'` in code; a member of JSON has a quoted name
  new RegExp(`(?<!["'\\w])secrets?\\s*[:=]\\s*\\[?\\s*${TEXT}[^"'\`]`),
]

const findDefault = (line: string) => DEFAULTS.find((pattern) => pattern.test(line))

test('the patterns find a default of a secret', () => {
  const faulty = [
    "const secrets = (process.env.WEBHOOK_SECRETS ?? 'whsec_unset').split(',')",
    "secrets: [process.env['WEBHOOK_SECRET'] || 'a']",
    "const { WEBHOOK_SECRET = 'whsec_x', PORT } = process.env",
    'SECRET = os.environ.get("SECRET", "whsec_unset")',
    "os.getenv('API_KEY', '')",
    'GATEHOOK_SECRET_KEY=$'.concat('{GATEHOOK_SECRET_KEY:-changeme}'),
    "receiver({ secrets: ['whsec_unset'], onEvent })",
    "const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'",
  ]
  for (const line of faulty) assert.ok(findDefault(line), line)
  const allowed = [
    'const secrets = process.env.WEBHOOK_SECRETS?.split(",")',
    'SECRET = os.environ["SECRET"]',
    '  "secret": "whsec_8pD4y0wHq0mVQbB0b3tPj5v1kJw2c7nQmXo9hRzQyVY="',
    'POSTGRES_PASSWORD: $'.concat('{POSTGRES_PASSWORD:?}'),
    "const url = process.env.GATEHOOK_URL ?? 'http://127.0.0.1:8787'",
  ]
  for (const line of allowed) assert.equal(findDefault(line), undefined, line)
})

test('no page, example or template has a default of a secret', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...PLACES], {
    cwd: root,
    encoding: 'utf8',
  })
  const paths = files.split('\n').filter((path) => /\.(?!png|woff2)\w+$/.test(path))
  for (const place of PLACES) {
    const [first] = place.split('/*')
    assert.ok(place === '*.md' || paths.some((path) => path.startsWith(first!)), place)
  }
  const faults = paths.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => (findDefault(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  )
  assert.deepEqual(faults, [])
})
