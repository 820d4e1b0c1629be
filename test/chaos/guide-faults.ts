/**
 * Faults whose scenario is a guide or a shipped file: each runbook is executed as it is written,
 * and programs that read manifests, unit, proxies and alerts verify them.
 */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { ended } from './kill.ts'
import type { ChaosContext, ChaosCounts, ChaosScenario } from './scenario.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Tests set up machines, and many services. */
const LIMIT_MS = 900_000
const RULES = 'packages/gatehook/test/rules'
const COMMANDS = ['backup', 'doctor-state', 'expected-errors']
const RIG = ['--import=./test/rig/modules.ts', '--test-global-setup=test/rig/global.ts']

/** Runs files of tests in a process of their own; a failed test is a broken promise. */
const runTests =
  (files: readonly string[]) =>
  async ({ folder, report }: ChaosContext): Promise<ChaosCounts> => {
    const log = createWriteStream(join(folder, 'tests.log'))
    const args = [...RIG, '--test', '--test-reporter=tap', '--test-concurrency=1', ...files]
    // A runner inside of another one reports to that.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const child = spawn(process.execPath, args, { cwd: ROOT, env })
    const failed: string[] = []
    let passed = 0
    child.stderr.pipe(log, { end: false })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      log.write(text)
      for (const [, isNot, name] of text.matchAll(/^ *(not )?ok \d+ - (.+)$/gm)) {
        report(`${isNot ? 'BROKEN' : 'passed'}: ${name}`)
        if (isNot) failed.push(`${name} fails`)
        else passed++
      }
    })
    await ended(child)
    if (passed === 0) failed.push('no test passed')
    return { lost: 0, faults: failed }
  }

const scenario = (name: string, title: string, files: readonly string[]): ChaosScenario => ({
  name,
  title,
  groups: ['operate'],
  nodes: [1],
  limitMs: LIMIT_MS,
  run: runTests(files),
})

export const guideFaults: readonly ChaosScenario[] = [
  scenario('runbooks', 'each runbook and the restore drill, as they are written', [
    'test/docs/runbooks.test.ts',
    'test/docs/restore-drill.test.ts',
  ]),
  scenario(
    'restored-credentials',
    'codes, links, sessions, keys and factors that were used or revoked since a backup',
    ['replaced-factors-end', 'revocations-are-applied-again', 'sessions-of-restored-data'].map(
      (name) => `${RULES}/18-05-${name}.test.ts`,
    ),
  ),
  scenario('commands', 'commands in a wrong folder, without a database, or with a wrong file', [
    `${RULES}/18-04-commands-that-create-a-database.test.ts`,
    ...COMMANDS.map((name) => `packages/gatehook/test/cli/${name}.test.ts`),
  ]),
  scenario(
    'shipped-files',
    'manifests, unit, proxies and alerts, by the programs that read them',
    ['alerts', 'deploy', 'metrics'].map((name) => `test/deploy/${name}.test.ts`),
  ),
]
