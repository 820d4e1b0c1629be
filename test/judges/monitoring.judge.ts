/**
 * `promtool` of Prometheus runs the tests of the alerts, and Grafana's own types in Go read the
 * dashboard strictly. Each is skipped where it is not installed; `PROMTOOL` names the program.
 * `JUDGES=alerts,dashboard` selects them.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../rig/cleanup.ts'
import { isSelected } from './selection.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const promtool = process.env.PROMTOOL ?? 'promtool'
/** Returns why a tool does not run; false if it does. */
const reasonToSkip = (name: string, command: string, argument: string): string | false => {
  if (!isSelected(name)) return 'JUDGES selects others'
  return spawnSync(command, [argument]).status === 0 ? false : `${command} is not installed`
}

test('promtool accepts the rules and their tests', {
  skip: reasonToSkip('alerts', promtool, '--version'),
}, () => {
  for (const file of ['check rules alerts.yaml', 'test rules alerts.test.yaml']) {
    const run = spawnSync(promtool, file.split(' '), { cwd: join(DEPLOY, 'prometheus') })
    assert.equal(run.status, 0, `${run.stdout}${run.stderr}`)
  }
})

test("Grafana's types read the dashboard strictly", {
  skip: reasonToSkip('dashboard', 'go', 'version'),
  timeout: 600_000,
}, (t) => {
  const folder = emptyFolder(t)
  cpSync(join(import.meta.dirname, 'programs/dashboard.go'), join(folder, 'main.go'))
  const go = (...args: string[]) => {
    const run = spawnSync('go', args, { cwd: folder, encoding: 'utf8' })
    assert.equal(run.status, 0, `go ${args.join(' ')}: ${run.stdout}${run.stderr}`)
  }
  go('mod', 'init', 'example.com/judge')
  go('get', 'github.com/grafana/grafana-foundation-sdk/go@v0.0.22')
  go('run', '.', join(DEPLOY, 'grafana/gatehook.json'))
})
