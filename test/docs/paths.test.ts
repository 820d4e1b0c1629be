/** Every file or folder of this repository that a page names exists. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const ENGINE = 'packages/gatehook'

const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /^([A-Z]+\.md|docs\/.*|packages\/[\w-]+\/README\.md)$/.test(path))

/** Folders that a path in a page may be relative to. */
const BASES = ['.', `${ENGINE}/src`, ENGINE, `${ENGINE}/test/rules`, 'docs', 'docs/reference']

/** Folders of this repository that no guide tells its reader to create. */
const ROOTS = new Set(['packages', 'docs', 'build', 'bench', 'spec'])
/** First folders of the paths that other pages use. */
const TOPS = new Set([
  ...[...ROOTS, 'test', 'src', 'service', 'bin'],
  ...execFileSync('git', ['ls-files', `${ENGINE}/src`], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .map((path) => path.split('/')[3])
    .filter((name) => name !== undefined && !name.includes('.')),
])

/** A path such as `lists/plan.ts` or `docs/reference/`; no glob, media type, route or URL. */
const PATH = /^(?:[\w.-]+\/)+(?:[\w.-]+\.(?:ts|js|cjs|md|json|sh|sql))?$/
const NAME = /^\d+-\d+-[\w-]+\.test\.ts$/

/** Names in backquotes; in ARCHITECTURE.md also those in diagrams. */
function pathsIn(page: string, text: string): string[] {
  const prose = page === 'ARCHITECTURE.md' ? text : text.replace(/^```[\s\S]*?^```/gm, '')
  const tops = page.startsWith('docs/guides/') ? ROOTS : TOPS
  const quoted = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, path]) => path!)
  const nodes = [...text.matchAll(/\["?([\w/-]+\.ts)</g)].map(([, path]) => path!)
  return [...quoted, ...nodes].filter(
    (path) => NAME.test(path) || (PATH.test(path) && tops.has(path.split('/')[0]!)),
  )
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
  for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/reference/asvs.md']) {
    assert.ok(pathsIn(page, readFileSync(join(root, page), 'utf8')).length > 5, page)
  }
})
