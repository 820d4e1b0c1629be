/**
 * The alerts of `deploy/prometheus` and the dashboard. `test/judges/monitoring.judge.ts` runs
 * promtool; here the table is complete, and each runbook is a section of the guide.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { alerts } from '../../docs/generate/alert-rows.ts'
import { anchorOf } from '../../docs/generate/alerts.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Rule {
  readonly alert: string
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

test('each alert has a sentence, and a runbook that is a section of a page', () => {
  const { groups } = parse(read('deploy/prometheus/alerts.yaml'))
  const rules: readonly Rule[] = groups.flatMap(({ rules: of }: { rules: Rule[] }) => of)
  assert.equal(rules.length, alerts.length)
  for (const { alert, annotations } of rules) {
    assert.match(annotations.summary, /\.$/, alert)
    const [file, anchor] = annotations.runbook_url.split('#') as [string, string]
    assert.ok(existsSync(join(root, file)), annotations.runbook_url)
    const anchors = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!))
    assert.ok(anchors.includes(anchor), annotations.runbook_url)
  }
})

test('each alert has a case that fires and one that does not', () => {
  const { tests } = parse(read('deploy/prometheus/alerts.test.yaml'))
  for (const { name } of alerts) {
    const cases = tests.filter(
      ({ alert_rule_test: [{ alertname }] }: { alert_rule_test: [{ alertname: string }] }) =>
        alertname === name,
    )
    const fires = cases.map(
      ({ alert_rule_test: [{ exp_alerts }] }: { alert_rule_test: [{ exp_alerts?: unknown }] }) =>
        exp_alerts !== undefined,
    )
    assert.deepEqual(new Set(fires), new Set([true, false]), name)
  }
  assert.equal(new Set(alerts.map(({ name }) => name)).size, alerts.length)
})

test('each query of the dashboard selects by installation and node', () => {
  const { panels, templating } = JSON.parse(read('deploy/grafana/gatehook.json'))
  const names = templating.list.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['datasource', 'job', 'instance'])
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const selectors = expr.match(/\{[^}]*\}/g) ?? []
      assert.ok(selectors.length > 0, title)
      for (const selector of selectors) {
        assert.match(selector, /^\{job=~"\$job",instance=~"\$instance"/, `${title}: ${expr}`)
      }
    }
  }
})
