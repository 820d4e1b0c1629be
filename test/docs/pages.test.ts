/** Generated pages are current, and the index lists every page. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
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

test('each rule with a test of its own is listed', () => {
  const numbers = new Set(rules.map((rule) => rule.number))
  const missing = readdirSync(new URL('packages/gatehook/test/rules/', root)).filter((name) => {
    const [, chapter, rule] = /^(\d+)(?:-(\d\d))?-.*\.test\.ts$/.exec(name) ?? []
    return chapter && !numbers.has(rule === undefined ? chapter : `${chapter}.${Number(rule)}`)
  })
  assert.deepEqual(missing, [])
})

test('docs/README.md links to every guide, reference page and decision', () => {
  const index = readFileSync(new URL('docs/README.md', root), 'utf8')
  for (const folder of ['guides', 'reference', 'decisions']) {
    const names = readdirSync(new URL(`docs/${folder}/`, root)).filter((name) =>
      name.endsWith('.md'),
    )
    const missing = names.filter((name) => !index.includes(`](${folder}/${name})`))
    assert.deepEqual(missing, [], folder)
  }
})

test('decisions have one number each, and the index lists them in order', () => {
  const numberOf = (name: string) => name.slice(0, 4)
  const files = readdirSync(new URL('docs/decisions/', root)).map(numberOf)
  assert.deepEqual(files, [...new Set(files)])
  const index = readFileSync(new URL('docs/README.md', root), 'utf8')
  const listed = [...index.matchAll(/\]\(decisions\/(\d{4})-/g)].map(([, number]) => number)
  assert.deepEqual(listed, [...listed].sort())
})
