/** Every metric of `/metrics` is documented, and alerts and dashboard use existing ones only. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { errands } from '../../packages/gatehook/test/fixtures/errands.ts'
import { openService } from '../rig/service.ts'

const root = join(import.meta.dirname, '../..')
const PAGE = join(root, 'docs/reference/metrics.md')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface DescribedMetric {
  readonly name: string
  readonly type: string
  readonly help: string
}

async function readMetrics(t: TestContext): Promise<readonly DescribedMetric[]> {
  // A service with jobs has their metrics, too.
  const service = await openService(t, 'sqlite', { service: errands })
  const { text } = await service.get('/metrics')
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, n, type]) => [n, type]),
  )
  return [...text.matchAll(/^# HELP (\S+) (.*)$/gm)]
    .map(([, name, help]) => ({ name: name!, type: types.get(name)!, help: help! }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

const pageOf = (metrics: readonly DescribedMetric[]): string => `# Metrics

\`GET /metrics\` serves these figures for Prometheus: to loopback, and elsewhere to credentials with
the scope \`metrics:read\`. \`UPDATE_METRICS=1 node --test test/deploy/metrics.test.ts\` writes this
page from the running service. Alert rules are in \`deploy/prometheus/alerts.yaml\`, a dashboard is
in \`deploy/grafana/gatehook.json\`; a test compares their metrics with this table.

| metric | type | meaning |
| --- | --- | --- |
${metrics.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`).join('\n')}
`

test('docs/reference/metrics.md lists the metrics of a running service', async (t) => {
  const page = pageOf(await readMetrics(t))
  if (process.env.UPDATE_METRICS === '1') writeFileSync(PAGE, page)
  assert.equal(readFileSync(PAGE, 'utf8'), page)
})

/** Returns the names of metrics in an expression. */
const namesIn = (expression: string): string[] =>
  expression.match(/\b(gatehook|process|nodejs)_[a-z_]+/g) ?? []

test('alerts and dashboard use metrics that exist', async (t) => {
  const names = new Set((await readMetrics(t)).map(({ name }) => name))
  const { groups } = parse(read('deploy/prometheus/alerts.yaml'))
  const alerts = groups.flatMap(({ rules }: { rules: { expr: string }[] }) =>
    rules.map(({ expr }) => expr),
  )
  const { panels } = JSON.parse(read('deploy/grafana/gatehook.json'))
  const queries = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  )
  assert.ok(alerts.length >= 5 && queries.length >= 8)
  for (const expression of [...alerts, ...queries]) {
    const used = namesIn(expression)
    assert.ok(used.length > 0 || /\bup\{/.test(expression), expression)
    for (const name of used) {
      assert.ok(names.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} in ${expression}`)
    }
  }
})
