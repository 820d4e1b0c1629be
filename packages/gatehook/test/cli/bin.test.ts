/** The program that npm links: it checks the Node version before it loads other files. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const PACKAGE = new URL('../../package.json', import.meta.url)
const { bin, version } = JSON.parse(readFileSync(PACKAGE, 'utf8'))
const PROGRAM = fileURLToPath(new URL(bin.gatehook, PACKAGE))

/** Runs the program, with `node` as the version that Node reports. */
function runProgram(node?: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { node: '${node}' } })`
  const flags = node ? ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`] : []
  return spawnSync(process.execPath, [...flags, PROGRAM, '--version'], { encoding: 'utf8' })
}

test('an older Node gets a sentence with the minimum version', () => {
  for (const older of ['20.19.0', '22.20.0', '24.6.9']) {
    const { status, stdout, stderr } = runProgram(older)
    assert.deepEqual([status, stdout], [78, ''])
    assert.ok(stderr.startsWith(`Gatehook needs Node 24.7 or newer; this is Node ${older} (`))
    assert.doesNotMatch(stderr, /\n\s+at |ERR_/)
  }
})

test('a supported Node runs the command line', () => {
  const { status, stdout } = runProgram()
  assert.deepEqual([status, stdout], [0, `${version}\n`])
})
