/** `npm test` starts no program, covers each rule that one process can show, and isolates files. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { LONG, planOf } from './rig/plan.ts'
import { PROCESS_RULES } from './tidy-exceptions.ts'

const root = join(import.meta.dirname, '..')
const { shared, commands, alone, long } = planOf()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const RULE = /\/rules\/(\d+)-(\d+)-/

/** Returns the rules with a test among files: `7.6`. */
const rulesOf = (files: readonly string[]): Set<string> =>
  new Set(
    files.flatMap((path) => {
      const match = RULE.exec(path)
      return match ? `${Number(match[1])}.${Number(match[2])}` : []
    }),
  )

test('npm test has a file of each rule that one process can show', () => {
  const fast = rulesOf([...shared, ...commands, ...alone])
  const missing = [...rulesOf(long)].filter((rule) => !fast.has(rule))
  assert.deepEqual(missing.sort(), PROCESS_RULES, 'the list only shrinks')
})

test('npm test leaves out what starts programs, directly or by another file of tests', () => {
  const rules = 'packages/gatehook/test/rules'
  assert.ok(long.includes(`${rules}/2-04-signals-drain.test.ts`), 'by cli/process.ts')
  assert.ok(long.includes(`${rules}/18-04-a-full-disk.test.ts`), 'by a database server of its own')
  assert.ok(long.includes('test/chaos/kill.test.ts'), 'by the module that it tests')
  assert.ok(commands.includes(`${rules}/12-03-usage-is-exit-2.test.ts`), 'commands share a process')
  assert.ok(shared.length > 500, `${shared.length} files`)
})

test('files that share a process change nothing of it', () => {
  assert.ok(alone.includes('packages/gatehook/test/embedded/open-app.test.ts'), 'process.env')
  assert.ok(alone.includes('packages/gatehook/test/rules/11-04-parsers-are-linear.test.ts'))
  for (const path of [...shared, ...commands]) {
    const changes = /\bprocess\.(chdir|umask|exit)\(|^ *(globalThis\.\w+|process\.exitCode) *=[^=]/m
    assert.equal(changes.exec(read(path))?.[0], undefined, path)
  }
})

test('the files that take long exist, and need no other reason', () => {
  for (const path of Object.keys(LONG)) {
    assert.ok(long.includes(path), `${path} does not exist`)
    assert.ok(!planOf([path], {}).long.includes(path), `${path} starts programs`)
  }
})
