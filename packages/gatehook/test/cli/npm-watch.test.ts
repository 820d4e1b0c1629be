/** A command that npm runs ends when the shell between them has ended (§2.4). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { isCommandOfNpm } from '../../src/platform/config/environment.ts'
import { launched } from './process.ts'

test('a service that npm runs drains when the shell between them has ended', async (t) => {
  const place = { cwd: emptyFolder(t), env: { npm_lifecycle_script: 'gatehook' }, shell: true }
  const run = launched(t, place, 'start', '--port', '0', '--no-seed')
  const { pid } = await run.line(({ msg }) => msg === 'listening')
  onEnd(t, () => {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  run.kill('SIGTERM')
  await run.line(({ msg }) => msg === 'stopped')
  await eventually(
    async () => isRunning(Number(pid)),
    (running) => !running,
  )
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a command that a program of npm starts is none of npm', () => {
  const scripts: readonly (readonly [script: string | undefined, isOfNpm: boolean])[] = [
    ['gatehook', true],
    ["'gatehook'", true],
    ['"gatehook"', true],
    ['gatehook start', true],
    ['gatehook dev --port 4000', true],
    ['node packages/gatehook/bin/gatehook.cjs start', true],
    ['node --test', false],
    ['node test/gatehook.test.js', false],
    ['gatehook-tests run', false],
    [undefined, false],
  ]
  for (const [script, isOfNpm] of scripts) {
    const env = script === undefined ? {} : { npm_lifecycle_script: script }
    assert.equal(isCommandOfNpm(env), isOfNpm, String(script))
  }
})
