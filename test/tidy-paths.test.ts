/** Every file of this repository that a page names, and every target of a link, exists. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const ENGINE = 'packages/gatehook'

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const basenames = new Set(tracked.map((path) => path.split('/').at(-1)))
const markdown = tracked.filter((path) => path.endsWith('.md'))
const pages = markdown.filter((path) => /^([A-Z]+\.md|docs\/|packages\/[^/]+\/README)/.test(path))

/** Folders that a path in a page may be relative to. */
const BASES = ['.', `${ENGINE}/src`, ENGINE, `${ENGINE}/test/rules`, 'docs', 'docs/reference']

/** A file such as `protocol/lists/page-plan.ts`; no glob, media type, route or URL. */
const FILE = /^(?:[\w.-]+\/)+[\w.-]+\.(?:ts|js|cjs|md|json|sh|sql)$/
const FOLDER = /^(?:[\w.-]+\/)+$/
const RULE_TEST = /^\d+-\d+-[\w-]+\.test\.ts$/
const BASENAME = /^[\w-]+(?:\.test)?\.ts$/

/** First segments of paths that no guide tells its reader to create. */
const ROOTS = new Set(['packages', 'docs', 'build', 'bench', 'spec'])

/** Folders that builds create. */
const OUTPUT = new Set(['dist', 'tarballs'])

/** A newcomer reads the first in ten minutes, so it stays short. */
const ARCHITECTURE = ['ARCHITECTURE.md', 'docs/internals.md', 'docs/where-to-find.md']
const ARCHITECTURE_MAX_BYTES = 12_000
const DESCRIBING_CODE = [...ARCHITECTURE, 'CONTRIBUTING.md', 'docs/reference/asvs.md']

const isGuide = (page: string): boolean => /^(docs\/guides|packages)\//.test(page)

/** Paths in backquotes; also those in diagrams. */
function pathsIn(page: string, text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '')
  const quoted = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, path]) => path!)
  const nodes = [...text.matchAll(/\["?([\w/-]+\.ts)</g)].map(([, path]) => path!)
  const isNamed = isGuide(page)
    ? (path: string) => ROOTS.has(path.split('/')[0]!) && (FILE.test(path) || FOLDER.test(path))
    : (path: string) => FILE.test(path) || FOLDER.test(path) || RULE_TEST.test(path)
  return [...quoted, ...nodes].filter((path) => isNamed(path) && !OUTPUT.has(path.split('/')[0]!))
}

for (const page of pages) {
  const paths = pathsIn(page, readFileSync(join(root, page), 'utf8'))
  if (paths.length === 0) continue
  test(`${page} names files that exist`, () => {
    const missing = paths.filter(
      (path) => !BASES.some((base) => existsSync(join(root, base, path))),
    )
    assert.deepEqual(missing, [])
  })
}

test('the pages that describe the code name files', () => {
  for (const page of DESCRIBING_CODE) {
    assert.ok(pathsIn(page, readFileSync(join(root, page), 'utf8')).length > 5, page)
  }
})

test('pages of the architecture name files by names that exist', () => {
  const text = ARCHITECTURE.map((page) => readFileSync(join(root, page), 'utf8')).join('\n')
  const names = [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, name]) => name!)
    .filter((name) => BASENAME.test(name))
  assert.deepEqual(
    names.filter((name) => !basenames.has(name)),
    [],
  )
})

test('ARCHITECTURE.md has at most 12 kB', () => {
  assert.ok(readFileSync(join(root, 'ARCHITECTURE.md')).length <= ARCHITECTURE_MAX_BYTES)
})

/** The anchors of a page, as GitHub derives them from its headings. */
const anchorsOf = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )

const LINK = /\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?[^)]*\)/g

test('every link between pages leads to a file, and to a heading of it', () => {
  const broken = markdown.flatMap((name) => {
    const page = join(root, name)
    return [...readFileSync(page, 'utf8').matchAll(LINK)]
      .filter(([, path, anchor]) => {
        const target = path === '' ? page : join(dirname(page), path!)
        if (!existsSync(target)) return true
        return anchor !== undefined && !anchorsOf(target).includes(anchor)
      })
      .map(([link]) => `${name}: ${link}`)
  })
  assert.deepEqual(broken, [])
})
