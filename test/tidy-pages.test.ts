/** Rules of the pages: one file each touches the network, the stream, the time and storage. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { circlesOf } from './rig/imports.ts'
import { codeOf } from './tidy-code.ts'

const root = join(import.meta.dirname, '..')
const PAGES = 'packages/pages/src/'
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', PAGES], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const sources = files.filter((path) => /\.tsx?$/.test(path) && !path.includes('/generated/'))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

const doors: readonly (readonly [subject: string, pattern: RegExp, file: string])[] = [
  ['requests', /\bfetch\(|XMLHttpRequest|sendBeacon/, 'api.ts'],
  ['the event stream', /\bnew (EventSource|WebSocket)\b/, 'stream.ts'],
  ['the time', /Date\.now\(|new Date\(\)|performance\.now|set(Timeout|Interval)\(/, 'clock.ts'],
  ['storage of the browser', /\b(local|session)Storage\b|indexedDB|document\.cookie/, 'stored.ts'],
  ['history', /\bhistory\.(push|replace)State|history\[/, 'router.ts'],
]

test('one file each uses the outside world', () => {
  const code = new Map(sources.map((path) => [path, codeOf(path)]))
  for (const [subject, pattern, file] of doors) {
    const users = sources.filter((path) => pattern.test(code.get(path)!))
    assert.deepEqual(users, [PAGES + file], subject)
  }
})

test('imports between files have no circle', () => {
  assert.ok(sources.length > 100, `${sources.length} files`)
  assert.deepEqual(circlesOf(sources), [])
})

test('pages import nothing of the engine', () => {
  for (const path of sources) {
    assert.doesNotMatch(read(path), /from '[^']*(gatehook\/|gatehook')/, path)
  }
})

test('nothing writes markup as text', () => {
  for (const path of sources) {
    assert.doesNotMatch(withoutComments(read(path)), /dangerouslySet|\.(inner|outer)HTML|srcdoc/)
  }
})

test('console and portal do not import each other, parts import neither', () => {
  for (const path of sources) {
    const folder = path.slice(PAGES.length).split('/')[0]!
    const foreign = { console: /\/portal\//, portal: /\/console\//, parts: /\/(console|portal)\// }
    const pattern = foreign[folder as keyof typeof foreign]
    if (!pattern) continue
    const imports = [...read(path).matchAll(/from '([^']+)'/g)].map(([, name]) => name!)
    for (const name of imports) assert.doesNotMatch(name, pattern, path)
  }
})

test('files have at most 400 lines and 100 columns, and begin with a comment', () => {
  for (const path of files) {
    const text = read(path)
    const lines = text.split('\n')
    assert.ok(lines.length <= 401 || path.endsWith('.css'), `${path}: ${lines.length} lines`)
    if (/\.tsx?$/.test(path)) {
      assert.ok(!lines.some((line) => [...line].length > 100), path)
      assert.match(text, /^\/\*\*/, path)
    }
  }
})
