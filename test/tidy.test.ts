/**
 * Checks the rules of ARCHITECTURE.md by reading the files: imports between modules, access to the
 * outside world, lengths. `tidy-exceptions.ts` lists the exceptions, which only shrink.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { circlesOf, importsOf } from './rig/imports.ts'
import { codeOf } from './tidy-code.ts'
import { LONG_FILES, LONG_FUNCTIONS, NOT_BUILT, WIDE_FILES } from './tidy-exceptions.ts'

const root = join(import.meta.dirname, '..')
const git = (...words: string[]): string[] =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)

/** Includes uncommitted files. */
const files = git('ls-files', '--cached', '--others', '--exclude-standard').filter((path) =>
  existsSync(join(root, path)),
)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const ENGINE = 'packages/gatehook/src/'
const typescript = files.filter((path) => path.endsWith('.ts'))
const sources = typescript.filter((path) => /^packages\/\w+\/(src|service)\//.test(path))
const engine = sources.filter((path) => path.startsWith(ENGINE) && !path.endsWith('.test.ts'))

/**
 * Reads the order of modules from the map of ARCHITECTURE.md, lowest first: a row is a wing with
 * its modules, or modules outside wings.
 */
function modulesOf(page: string): string[] {
  const map = /```\n(cli\/[\s\S]*?)```/.exec(page)?.[1] ?? ''
  const names = map.split('\n').flatMap((line) => {
    const [first = '', ...rest] = line.slice(0, MAP_COLUMN).match(/[\w./-]+/g) ?? []
    if (!first.endsWith('/')) return [first, ...rest]
    const modules = rest.filter((name) => !name.endsWith('.ts'))
    const files = rest.filter((name) => name.endsWith('.ts'))
    const inWing = modules.map((name) => first + name)
    return modules.length > 0 ? inWing : [first.slice(0, -1), ...files]
  })
  return names.filter(Boolean).reverse()
}
const MAP_COLUMN = 57
/** Files outside the order: no module imports the public interface; `app.ts` the pipeline. */
const OUTSIDE_ORDER = ['gatehook.ts', 'pipeline.ts']
const modules = modulesOf(read('ARCHITECTURE.md'))
const wings = new Set(modules.filter((name) => name.includes('/')).map((name) => dirname(name)))
/** Declarations of tables are below the modules that use them, and above `storage/`. */
const TABLES = /^(?!platform\/storage\/).+\/tables\.ts$/
const moduleOf = (path: string): string => {
  if (TABLES.test(path.slice(ENGINE.length))) return 'engine-tables.ts'
  const [first = '', second = ''] = path.slice(ENGINE.length).split('/')
  return wings.has(first) ? `${first}/${second}` : first
}
const placeOf = (name: string): number => modules.indexOf(name)

test('the map of ARCHITECTURE.md has every module', () => {
  assert.ok(wings.size >= 7, 'the map was not found')
  for (const name of new Set(engine.map(moduleOf))) {
    assert.ok(OUTSIDE_ORDER.includes(name) || placeOf(name) >= 0, `${name} is not on the map`)
  }
})

test('a module imports itself and lower ones', () => {
  for (const path of engine) {
    for (const specifier of importsOf(path).filter((name) => name.startsWith('.'))) {
      const target = normalize(join(dirname(path), specifier))
      assert.ok(target.startsWith(ENGINE), `${path} imports ${target}, outside the engine`)
      if (dirname(path) === dirname(target)) continue // its own tables
      const [from, to] = [moduleOf(path), moduleOf(target)]
      const above = from === 'gatehook.ts' ? modules.length : placeOf(from)
      const below = from === 'app.ts' && to === 'pipeline.ts' ? -1 : placeOf(to)
      assert.ok(to !== 'gatehook.ts', `${path} imports the public interface`)
      assert.ok(from === to || below < above, `${path} imports ${to}`)
    }
  }
})

test('imports between files have no circle', () => {
  assert.deepEqual(circlesOf(engine), [])
})

test('packages do not import each other', () => {
  for (const path of sources) {
    const own = path.split('/')[1]!
    for (const specifier of importsOf(path)) {
      const target = specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : ''
      if (target) assert.ok(target.startsWith(`packages/${own}/`), `${path} imports ${target}`)
      else if (/^gatehook/.test(specifier)) {
        const itself = path.startsWith('packages/gatehook/service/')
          ? specifier === 'gatehook'
          : false
        assert.ok(itself, `${path} imports ${specifier}`)
      }
    }
  }
})

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

/**
 * Collections, fields and events of the reference service. Administration itself has `users`
 * (§12.3, §13).
 */
test('the engine names no resource', () => {
  const names = /\b(orders|users|user_id)\b|['"`](order|user)\./
  const administration = /\/admin\/users\b|\bgatehook users\b|'\.\/users\.ts'|\bname: 'users'/g
  for (const path of engine) {
    const name = names.exec(withoutComments(read(path)).replace(administration, ''))?.[0]
    assert.equal(name, undefined, path)
  }
})

/** Interfaces to the outside world and the only files that may use them. Types do not count. */
const doors: readonly [subject: string, pattern: RegExp, ...files: string[]][] = [
  [
    'http server',
    /import (?!type).* from '(find-my-way|light-my-request)'|createHttps?\(/,
    'protocol/http/path-finder.ts',
    'protocol/http/server.ts',
  ],
  ['node:sqlite', /import (?!type).* from 'node:sqlite'/, 'platform/storage/sqlite-connection.ts'],
  ['pg', /import (?!type).* from 'pg'/, 'platform/storage/postgres-session.ts'],
  ['process.env', /process\.env\b/, 'platform/config/environment.ts'],
  ['the wall clock', /Date\.now\(|new Date\(\)|performance\.now\(|hrtime/, 'kernel/clock.ts'],
  [
    'entropy',
    /Math\.random|random(Bytes|UUID|Fill|FillSync|Int)\(|getRandomValues/,
    'kernel/random.ts',
  ],
  ['OpenTelemetry', /'@opentelemetry\//, 'platform/telemetry/open-telemetry.ts'],
  [
    'outbound sockets',
    /\bfetch\(|from 'undici'|\bhttps?\.request\(|net\.connect\(|tls\.connect\(/,
    'outbound/transport/transport.ts',
    'outbound/transport/fetch-bounded.ts', // for libraries
    'cli/http-client.ts', // a client of the engine, in another process
  ],
]
test('one file each uses the outside world', () => {
  const code = new Map(engine.map((path) => [path, codeOf(path)]))
  for (const [subject, pattern, ...files] of doors) {
    const users = engine.filter((path) => pattern.test(code.get(path)!))
    assert.deepEqual(users.sort(), files.map((file) => ENGINE + file).sort(), subject)
  }
})

test('a module that reads JSON of others parses it by `parseJsonBody`, which counts', () => {
  const readers = ['outbound/transport/', 'declare/forwards/', 'protocol/http/']
  const parsers = engine
    .filter((path) => readers.some((folder) => path.startsWith(ENGINE + folder)))
    .filter((path) => /JSON\.parse\(|\.json\(\)/.test(codeOf(path)))
  // `json-text.ts` reads names in text that was parsed; `mount.ts` responses of this process.
  const files = ['json-body.ts', 'json-text.ts', 'mount.ts'].map((name) => `protocol/http/${name}`)
  assert.deepEqual(
    parsers.sort(),
    files.map((file) => ENGINE + file),
  )
})

test('a step adds to the `Vary` of the earlier ones', () => {
  const replacing = engine.filter((path) => /\.vary = (?!joinVary\()/.test(codeOf(path)))
  assert.deepEqual(replacing, [], 'use joinVary')
})

test('a list of a map grows in place, so that the work of a group is linear', () => {
  const copies = /\.set\((\w+)!?, \[\.\.\.\([\w.]+\.get\(\1/
  const quadraticFiles = engine.filter((path) => copies.test(codeOf(path)))
  assert.deepEqual(quadraticFiles, [], 'use Map.groupBy or push')
})

test('a test ends last what it opened first, whatever fails', () => {
  const hooks = typescript
    .filter(
      (path) => /^(test|packages\/gatehook\/test)\//.test(path) && path !== 'test/tidy.test.ts',
    )
    .filter((path) => /\bt\.after\(|\bafter\(\(\) => rm/.test(codeOf(path)))
  // Hooks of `t.after` run in the order of their calls, and none after one that fails.
  assert.deepEqual(hooks, [], 'use onEnd or emptyFolder of test/rig/cleanup.ts')
})

test('source does not depend on whether a test runs', () => {
  for (const path of sources.filter((name) => !name.endsWith('.test.ts'))) {
    const condition = /NODE_ENV|NODE_TEST|\b(is|in|under)_?test(ing)?\b/i
    assert.equal(condition.exec(withoutComments(read(path)))?.[0], undefined, path)
    assert.ok(!importsOf(path).includes('node:test'), path)
  }
})

test('no barrels, no default exports, no files without a subject', () => {
  for (const path of sources) {
    assert.doesNotMatch(path, /(^|\/)(utils?|helpers?|types?|index|common|misc)(\.test)?\.ts$/)
    assert.doesNotMatch(withoutComments(read(path)), /^export default|^export \* from/m, path)
  }
})

test('every file begins with a comment on its content', () => {
  for (const path of engine) {
    assert.match(read(path).replace(/^#!.*\n/, ''), /^\/\*\*/, path)
  }
})

const linesOf = (path: string): string[] => read(path).replace(/\n$/, '').split('\n')

test('files have at most 400 lines', () => {
  const long = typescript.filter((path) => linesOf(path).length > 400)
  assert.deepEqual(long, LONG_FILES, 'the list of long files only shrinks')
})

test('lines have at most 100 columns', () => {
  const wide = typescript.filter((path) => linesOf(path).some((line) => [...line].length > 100))
  const more = wide.filter((path) => !WIDE_FILES.includes(path))
  assert.deepEqual(more, [], 'too wide')
  const narrow = WIDE_FILES.filter((path) => !wide.includes(path))
  assert.deepEqual(narrow, [], 'remove these from the list')
})

/** Finds functions by the formatter's indentation: a line of the same depth closes a function. */
function longFunctions(path: string): string[] {
  const lines = linesOf(path)
  const long: string[] = []
  lines.forEach((line, at) => {
    const opens = /^(\s*)(?!(if|for|while|switch|test|describe|else)\b).*(\)|=>)[^;]*\{$/.exec(line)
    if (!opens) return
    const end = lines.findIndex((other, n) => n > at && other.startsWith(`${opens[1]}}`))
    if (end - at + 1 > 90) long.push(`${path}: ${line.trim()} (${end - at + 1} lines)`)
  })
  return long
}

test('functions have at most 90 lines', () => {
  const long = sources.filter((path) => !path.endsWith('.test.ts')).flatMap(longFunctions)
  const more = long.filter((name) => !LONG_FUNCTIONS.some((start) => name.startsWith(start)))
  assert.deepEqual(more, [])
  const short = LONG_FUNCTIONS.filter((start) => !long.some((name) => name.startsWith(start)))
  assert.deepEqual(short, [], 'remove these from the list')
})

test('no file contains a path of a developer’s machine', () => {
  const home = homedir().length > 1 ? homedir() : '/root'
  const places = [`${root}/`, `${home}/`, '/Users/', '/home/']
  for (const path of files.filter((name) => !/(^|\/)package-lock\.json$/.test(name))) {
    if (path === relative(root, import.meta.filename)) continue
    const text = read(path)
    for (const place of places) assert.ok(!text.includes(place), `${path} names ${place}`)
  }
})

/** Each implemented rule has a test file: `§7.6` → `7-06-….test.ts`. */
test('every implemented rule has its test file', () => {
  const built = files.flatMap(
    (path) => /\/rules\/(\d+)-(\d+)-[^/]*\.test\.ts$/.exec(path)?.slice(1) ?? [],
  )
  const tested = new Set<string>()
  for (let at = 0; at < built.length; at += 2)
    tested.add(`${Number(built[at])}.${Number(built[at + 1])}`)
  const missing: string[] = []
  for (const [section, count] of Object.entries(RULES)) {
    for (let n = 1; n <= count; n++)
      if (!tested.has(`${section}.${n}`)) missing.push(`${section}.${n}`)
  }
  assert.deepEqual(
    missing,
    NOT_BUILT.flatMap((line) => line.split(' ')),
    'this list only shrinks',
  )
})

/** Number of rules in each section of the interface. */
const RULES: Readonly<Record<string, number>> = {
  1: 1,
  2: 8,
  3: 10,
  4: 8,
  5: 5,
  6: 10,
  7: 10,
  8: 11,
  9: 14,
  10: 7,
  11: 5,
  12: 7,
}
