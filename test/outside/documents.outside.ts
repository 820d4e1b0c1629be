/**
 * `npm run test:outside`: tools of others read the OpenAPI documents of a running service. Redocly
 * and Spectral with the OWASP rules lint them, generated types in TypeScript have the members of
 * whole rows, and Schemathesis sends requests to the service and to two others. Needs the
 * registries of npm and PyPI, and Python.
 */
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { marketplace } from '../../packages/gatehook/examples/marketplace/service.ts'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { emptyFolder } from '../rig/cleanup.ts'
import { openService } from '../rig/service.ts'
import { environment, npm, output } from './stage.ts'
import { workshop } from './workshop.ts'

const NODE = dirname(process.execPath)
/** The oldest version differs from the newest one by its names only. */
const DOCUMENTS = ['v2', 'platform', 'admin'] as const
/** Lower for every parameter of an operation: a list has one for each operator of a filter. */
const SCORE_MIN = 88
const CASES_MIN = 5_000
const EXAMPLE_CASES_MIN = 500

const folder = emptyFolder({ after })
const env = environment(NODE, { REDOCLY_TELEMETRY: 'off', CI: 'true' })
const tool = (name: string, ...args: string[]) =>
  output(folder, env, join(folder, 'node_modules/.bin', name), ...args)
const python = (name: string, ...args: string[]) =>
  output(folder, env, join(folder, 'venv/bin', name), ...args)
const fileOf = (name: string): string => join(folder, `${name}.json`)

before(async () => {
  cpSync(join(import.meta.dirname, 'documents'), folder, { recursive: true })
  await npm(folder, NODE, 'install')
  await output(folder, env, 'python3', '-m', 'venv', 'venv')
  await python('pip', 'install', '--quiet', '--requirement', 'requirements.txt')
})

interface RunningService {
  readonly url: string
  /** A test key with every scope except `admin`, and a live one with `admin`. */
  readonly keys: { readonly test: string; readonly admin: string }
}

interface StartOptions {
  readonly service?: Service
  /** Default: those of the reference service. */
  readonly documents?: readonly string[]
  readonly variables?: Readonly<Record<string, string>>
}

/** Starts a service with sample data, and stores its documents. */
async function startService(
  t: TestContext,
  { service: declared, documents = DOCUMENTS, variables }: StartOptions = {},
): Promise<RunningService> {
  const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', ...variables }
  const options = { seed: true, env, ...(declared && { service: declared }) }
  const service = await openService(t, 'sqlite', options)
  const { url } = await service.app.listen()
  for (const name of documents) {
    const response = await fetch(`${url}/openapi/${name}.json`)
    writeFileSync(fileOf(name), await response.text())
  }
  const admin = await service.key({ scopes: ['admin'], mode: 'live' })
  return { url, keys: { test: await service.key(), admin } }
}

interface Finding {
  readonly code: string
  readonly path: readonly (string | number)[]
  readonly severity: number
}

interface Justification {
  readonly rule: string
  /** A part of the path of the finding; default: every path. */
  readonly path?: string
  readonly reason: string
}

function readJustifications(): readonly Justification[] {
  const text = readFileSync(join(import.meta.dirname, 'documents', 'justified.json'), 'utf8')
  const entries = JSON.parse(text) as readonly Justification[]
  for (const { rule, reason } of entries) assert.ok(reason.length > 40, rule)
  return entries
}

test('Redocly, Spectral and openapi-spec-validator accept the documents', async (t) => {
  await startService(t, { variables: { GATEHOOK_PUBLIC_URL: 'https://api.example' } })
  const files = DOCUMENTS.map(fileOf)
  await tool('redocly', 'lint', '--extends', 'recommended-strict', ...files)
  await python('openapi-spec-validator', ...files)
  const justifications = readJustifications()
  const unused = new Set(justifications)
  for (const name of DOCUMENTS) {
    const { agentReadiness } = JSON.parse(
      await tool('redocly', 'score', '--format=json', fileOf(name)),
    )
    assert.ok(agentReadiness >= SCORE_MIN, `${name}: ${agentReadiness}`)
    t.diagnostic(`score of ${name}: ${agentReadiness}`)
    const report = join(folder, `${name}-spectral.json`)
    const lint = ['lint', '--ruleset', 'spectral.yaml', '--format', 'json', '--output', report]
    // It exits with 1 for findings; without a report the next line fails.
    await tool('spectral', ...lint, fileOf(name)).catch(() => undefined)
    const findings = JSON.parse(readFileSync(report, 'utf8')) as Finding[]
    const faults = findings.filter(({ severity, code, path }) => {
      if (severity > 0) return false
      const text = path.join('/')
      const justification = justifications.find(
        (entry) => entry.rule === code && text.includes(entry.path ?? ''),
      )
      if (justification) unused.delete(justification)
      return !justification
    })
    assert.deepEqual(
      faults.map(({ code, path }) => `${code} ${path.join('/')}`),
      [],
      name,
    )
  }
  assert.deepEqual([...unused], [], 'justified.json lists entries without a finding')
})

/** A page of any style has whole rows. */
const CALLER = `import type { paths } from './types.ts'
type Page = paths['/api/v2/orders']['get']['responses'][200]['content']['application/json']
export const amounts = (page: Page): number[] => page.data.map((row) => row.amount)
export const next = (page: Page): string | null | undefined => page.next_cursor
`

test('types that openapi-typescript writes have the members of whole rows', async (t) => {
  await startService(t)
  await tool('openapi-typescript', fileOf('v2'), '--output', join(folder, 'types.ts'))
  const caller = join(folder, 'caller.ts')
  writeFileSync(caller, CALLER)
  const words = '--noEmit --strict --allowImportingTsExtensions --module nodenext'
  await tool('tsc', ...words.split(' '), caller)
})

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
].join(',')

/** A response `default` documents every status, so the check runs without it. */
function withoutDefault(name: string): string {
  const document = JSON.parse(readFileSync(fileOf(name), 'utf8'))
  interface Operation {
    responses?: { default?: unknown }
  }
  for (const item of Object.values<Record<string, Operation>>(document.paths)) {
    for (const operation of Object.values(item)) delete operation.responses?.default
  }
  const file = fileOf(`${name}-statuses`)
  writeFileSync(file, JSON.stringify(document))
  return file
}

/** Paths whose response does not end, or needs another service. */
const EXCLUDED = [
  '/events/stream',
  '/admin/stream',
  '/admin/audit/stream',
  // The provider of the example does not run here: 503 until it does.
  '/api/v1/orders/{id}/payments',
]

interface Run {
  readonly document: string
  readonly url: string
  readonly key: string
  /** Random requests for each operation; default: none beyond the boundary values. */
  readonly examples?: number
}

/** Returns the number of requests. Throws the report if there is a finding. */
async function runSchemathesis({ document, url, key, examples }: Run) {
  const text = await python(
    'schemathesis',
    'run',
    withoutDefault(document),
    ...['--url', url, '--header', `X-API-Key: ${key}`, '--checks', CHECKS],
    ...['--phases', examples ? 'examples,coverage,fuzzing' : 'examples,coverage'],
    ...['--max-examples', String(examples ?? 1), '--seed', '1'],
    ...['--warnings', 'off', '--no-color', '--request-timeout', '20'],
    ...EXCLUDED.flatMap((path) => ['--exclude-path', path]),
  )
  return Number(/(\d+) generated/.exec(text)?.[1])
}

test('Schemathesis finds no 5xx, no undocumented status and no other response', async (t) => {
  const { url, keys } = await startService(t)
  let cases = 0
  for (const [document, key, examples] of [
    ['v2', keys.test, 30],
    ['platform', keys.test, 5],
    ['admin', keys.admin, 5],
  ] as const) {
    const count = await runSchemathesis({ document, url, key, examples })
    t.diagnostic(`${document}: ${count} cases`)
    cases += count
  }
  assert.ok(cases >= CASES_MIN, `${cases} cases`)
})

for (const [service, document] of [
  [marketplace, 'v1'],
  [workshop, 'v1'],
] as const) {
  const title = `${service.definition.name}, ${document}`
  test(`Schemathesis finds no fault of ${title}`, async (t) => {
    const { url, keys } = await startService(t, { service, documents: [document] })
    const key = keys.test
    const count = await runSchemathesis({ document, url, key })
    t.diagnostic(`${title}: ${count} cases`)
    assert.ok(count >= EXAMPLE_CASES_MIN, `${count} cases`)
  })
}
