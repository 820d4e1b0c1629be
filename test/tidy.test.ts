/**
 * The walls of ARCHITECTURE.md, kept by reading the files: who imports whom, which file touches
 * the world, how long things are. What does not hold yet stands in the lists at the end, which
 * may only shrink.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { CIRCLES, LONG_FILES, LONG_FUNCTIONS, NOT_BUILT, WIDE_FILES } from './tidy-exceptions.ts'

const root = join(import.meta.dirname, '..')
const git = (...words: string[]): string[] =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)

/** Also what is not committed yet, so that a mistake is told before it is. */
const files = git('ls-files', '--cached', '--others', '--exclude-standard').filter((path) =>
  existsSync(join(root, path)),
)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const ENGINE = 'packages/gatehook/src/'
const typescript = files.filter((path) => path.endsWith('.ts'))
const sources = typescript.filter((path) => /^packages\/\w+\/(src|service)\//.test(path))
const engine = sources.filter((path) => path.startsWith(ENGINE) && !path.endsWith('.test.ts'))

const FROM =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g
const importsOf = (path: string): string[] =>
  [...read(path).matchAll(FROM)].map((match) => (match[1] ?? match[2])!)

/**
 * Rooms floor by floor, ground floor first, as the map of ARCHITECTURE.md has them: the page is the
 * rule. A file stands on the floor of its room; files without a room are rooms.
 */
function floorsOf(page: string): string[][] {
  const map = /```\n(cli\/[\s\S]*?)```/.exec(page)?.[1] ?? ''
  return map
    .split('\n')
    .map((line) => [...line.slice(0, MAP_COLUMN).matchAll(/[\w.-]+/g)].map(([room]) => room))
    .filter((rooms) => rooms.length > 0)
    .reverse()
}
const MAP_COLUMN = 42
/**
 * Two files that are no rooms: the public face is imported by nobody here, the pipeline by
 * `app.ts`.
 */
const LOOSE = ['gatehook.ts', 'pipeline.ts']
const floors = floorsOf(read('ARCHITECTURE.md'))
const roomOf = (path: string): string => path.slice(ENGINE.length).split('/')[0]!
const floorOf = (room: string): number => floors.findIndex((rooms) => rooms.includes(room))

test('every room stands on the map of ARCHITECTURE.md', () => {
  assert.ok(floors.length >= 7, 'the map was not found')
  for (const room of new Set(engine.map(roomOf))) {
    assert.ok(LOOSE.includes(room) || floorOf(room) >= 0, `${room} is not on the map`)
  }
})

test('a room imports itself and lower floors', () => {
  for (const path of engine) {
    for (const specifier of importsOf(path).filter((one) => one.startsWith('.'))) {
      const target = normalize(join(dirname(path), specifier))
      assert.ok(target.startsWith(ENGINE), `${path} imports ${target}, outside the engine`)
      const [from, to] = [roomOf(path), roomOf(target)]
      const above = from === 'gatehook.ts' ? floors.length : floorOf(from)
      const below = from === 'app.ts' && to === 'pipeline.ts' ? -1 : floorOf(to)
      assert.ok(to !== 'gatehook.ts', `${path} imports the public face`)
      assert.ok(from === to || below < above, `${path} imports ${to}`)
    }
  }
})

test('no file imports itself in a circle', () => {
  const done = new Set<string>()
  const visit = (path: string, way: readonly string[]): void => {
    assert.ok(!way.includes(path), [...way.slice(way.indexOf(path)), path].join(' → '))
    if (done.has(path)) return
    // Types are gone when it runs, but a circle of words is one too.
    for (const specifier of importsOf(path).filter((one) => one.startsWith('.'))) {
      const target = normalize(join(dirname(path), specifier))
      if (!engine.includes(target)) continue // a template of `gatehook init`
      const step = [path, target].map((one) => one.slice(ENGINE.length)).join(' → ')
      if (!CIRCLES.includes(step)) visit(target, [...way, path])
    }
    done.add(path)
  }
  for (const path of engine) visit(path, [])
})

test('packages do not import each other', () => {
  for (const path of sources) {
    if (path.endsWith('/cli/project-files.ts')) continue // texts of `gatehook init`
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
 * Names of the reference service: its collections, its fields, its events. The interface itself
 * calls people `users` where it manages them, whatever the rows are called (§12.3, §13).
 */
test('the engine names no resource', () => {
  const names = /\b(orders|users|user_id)\b|['"`](order|user)\./
  const ours = /\/admin\/users\b|\bgatehook users\b|'\.\/users\.ts'|\bname: 'users'/g
  for (const path of engine) {
    const named = names.exec(withoutComments(read(path)).replace(ours, ''))?.[0]
    assert.equal(named, undefined, path)
  }
})

/** What only one file each may touch. Types are no touch. */
const doors: readonly [what: string, pattern: RegExp, ...files: string[]][] = [
  [
    'http server',
    /import (?!type).* from '(find-my-way|light-my-request)'|createHttps?\(/,
    'http/server.ts',
  ],
  ['node:sqlite', /import (?!type).* from 'node:sqlite'/, 'storage/sqlite-connection.ts'],
  ['pg', /import (?!type).* from 'pg'/, 'storage/postgres-session.ts'],
  ['process.env', /process\.env\b/, 'config/environment.ts'],
  ['the wall clock', /Date\.now\(|new Date\(\)|performance\.now\(|hrtime/, 'kernel/clock.ts'],
  [
    'entropy',
    /Math\.random|random(Bytes|UUID|Fill|FillSync|Int)\(|getRandomValues/,
    'kernel/random.ts',
  ],
  [
    'outbound sockets',
    /\bfetch\(|from 'undici'|\bhttps?\.request\(|net\.connect\(|tls\.connect\(/,
    'transport/transport.ts',
    'cli/http-client.ts', // in a process of its own, as a client of the engine
  ],
]
test('one file each touches the world', () => {
  for (const [what, pattern, ...files] of doors) {
    const found = engine.filter((path) => pattern.test(withoutComments(read(path))))
    assert.deepEqual(found.sort(), files.map((file) => ENGINE + file).sort(), what)
  }
})

test('source never asks whether it is under test', () => {
  for (const path of sources.filter((one) => !one.endsWith('.test.ts'))) {
    const asks = /NODE_ENV|NODE_TEST|\b(is|in|under)_?test(ing)?\b/i
    assert.equal(asks.exec(withoutComments(read(path)))?.[0], undefined, path)
    // `gatehook init` writes a test for its user.
    const writes = path.endsWith('/cli/project-files.ts')
    assert.ok(writes || !importsOf(path).includes('node:test'), path)
  }
})

test('names say what is inside: no barrels, no default exports, no drawers', () => {
  for (const path of sources) {
    assert.doesNotMatch(path, /(^|\/)(utils?|helpers?|types?|index|common|misc)(\.test)?\.ts$/)
    assert.doesNotMatch(withoutComments(read(path)), /^export default|^export \* from/m, path)
  }
})

test('every file opens with what lives in it', () => {
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
  const mended = WIDE_FILES.filter((path) => !wide.includes(path))
  assert.deepEqual(mended, [], 'take these out of the list')
})

/** By the formatter's indentation: a function ends where a line of its own depth closes it. */
function longFunctions(path: string): string[] {
  const lines = linesOf(path)
  const found: string[] = []
  lines.forEach((line, at) => {
    const opens = /^(\s*)(?!(if|for|while|switch|test|describe|else)\b).*(\)|=>)[^;]*\{$/.exec(line)
    if (!opens) return
    const end = lines.findIndex((other, n) => n > at && other.startsWith(`${opens[1]}}`))
    if (end - at + 1 > 90) found.push(`${path}: ${line.trim()} (${end - at + 1} lines)`)
  })
  return found
}

test('functions have at most 90 lines', () => {
  const long = sources.filter((path) => !path.endsWith('.test.ts')).flatMap(longFunctions)
  const more = long.filter((one) => !LONG_FUNCTIONS.some((known) => one.startsWith(known)))
  assert.deepEqual(more, [])
  const gone = LONG_FUNCTIONS.filter((known) => !long.some((one) => one.startsWith(known)))
  assert.deepEqual(gone, [], 'take these out of the list')
})

test('no file names a path of somebody’s machine', () => {
  const home = homedir().length > 1 ? homedir() : '/root'
  const places = [`${root}/`, `${home}/`, '/Users/', '/home/']
  for (const path of files.filter((one) => !/(^|\/)package-lock\.json$/.test(one))) {
    if (path === relative(root, import.meta.filename)) continue
    const text = read(path)
    for (const place of places) assert.ok(!text.includes(place), `${path} names ${place}`)
  }
})

/** Rules that are built have a test each, named after them: `§7.6` → `7-06-….test.ts`. */
test('every rule built so far has its file', () => {
  const built = files.flatMap(
    (path) => /\/rules\/(\d+)-(\d+)-[^/]*\.test\.ts$/.exec(path)?.slice(1) ?? [],
  )
  const have = new Set<string>()
  for (let at = 0; at < built.length; at += 2)
    have.add(`${Number(built[at])}.${Number(built[at + 1])}`)
  const missing: string[] = []
  for (const [section, count] of Object.entries(RULES)) {
    for (let n = 1; n <= count; n++)
      if (!have.has(`${section}.${n}`)) missing.push(`${section}.${n}`)
  }
  assert.deepEqual(
    missing,
    NOT_BUILT.flatMap((line) => line.split(' ')),
    'this list only shrinks',
  )
})

/** How many rules each section of the interface has. */
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
