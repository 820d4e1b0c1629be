/** Generated pages are current, every link has a target, and the index lists every page. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { current, pages } from '../../docs/generate/pages.ts'
import { rules } from '../../docs/generate/rules.ts'

const root = new URL('../../', import.meta.url)

for (const page of pages()) {
  const name = page.file.pathname.split('/').at(-1)
  test(`docs/reference/${name} is up to date (npm run docs)`, () => {
    assert.equal(current(page), page.text)
  })
}

test('each rule is listed once', () => {
  const numbers = rules.map((rule) => rule.number)
  assert.deepEqual(numbers, [...new Set(numbers)])
})

/** The anchors of a page, as GitHub derives them from its headings. */
const anchorsOf = (page: URL): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )

test('every link between pages leads to a file, and to a heading of it', () => {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
  })
  const broken = listed
    .split('\n')
    .filter(Boolean)
    .flatMap((name) => {
      const page = new URL(name, root)
      const links = readFileSync(page, 'utf8').matchAll(
        /\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?[^)]*\)/g,
      )
      return [...links]
        .filter(([, path, anchor]) => {
          const target = path === '' ? page : new URL(path!, page)
          if (!existsSync(target)) return true
          return anchor !== undefined && !anchorsOf(target).includes(anchor)
        })
        .map(([link]) => `${name}: ${link}`)
    })
  assert.deepEqual(broken, [])
})

test('docs/README.md links to every guide, reference page and decision', () => {
  const index = readFileSync(new URL('docs/README.md', root), 'utf8')
  for (const folder of ['guides', 'reference', 'decisions']) {
    const names = readdirSync(new URL(`docs/${folder}/`, root))
    const missing = names.filter((name) => !index.includes(`](${folder}/${name})`))
    assert.deepEqual(missing, [], folder)
  }
})
