/** The program npm links: it says which Node is needed before anything else is loaded. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const PACKAGE = new URL('../../package.json', import.meta.url)
const { bin, version } = JSON.parse(readFileSync(PACKAGE, 'utf8'))
const PROGRAM = fileURLToPath(new URL(bin.gatehook, PACKAGE))

/** Runs it, as a Node of another version where one is given. */
function linked(node?: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { node: '${node}' } })`
  const flags = node ? ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`] : []
  return spawnSync(process.execPath, [...flags, PROGRAM, '--version'], { encoding: 'utf8' })
}

test('an older Node is told in words which one is needed', () => {
  for (const older of ['20.19.0', '22.20.0', '24.6.9']) {
    const { status, stdout, stderr } = linked(older)
    assert.deepEqual([status, stdout], [1, ''])
    assert.ok(stderr.startsWith(`Gatehook needs Node 24.7 or newer; this is Node ${older} (`))
    assert.doesNotMatch(stderr, /\n\s+at |ERR_/)
  }
})

test('a Node that fits runs it', () => {
  const { status, stdout } = linked()
  assert.deepEqual([status, stdout], [0, `${version}\n`])
})
