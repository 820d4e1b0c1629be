/** The pages that the package `gatehook` carries: their relative links stay in the package. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readPackage, root } from '../../build/packages.ts'
import { packedPage, writePackedPages } from '../../build/packed-pages.ts'
import { emptyFolder } from '../rig/cleanup.ts'

const engine = readPackage(join(root, 'packages/gatehook'))

test('relative links of the packed pages reach files that npm packs', (t) => {
  const folder = emptyFolder(t)
  writePackedPages(folder)
  const packed = new Set([...(engine.manifest.files ?? []), 'README.md'])
  for (const name of readdirSync(folder)) assert.ok(packed.has(name), `npm does not pack ${name}`)
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  )
  assert.ok(pages.includes('README.md') && pages.includes('docs/guides/first-api.md'))
  const broken = pages.flatMap((page) => {
    const links = readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)\s#]+)/g)
    return [...links]
      .filter(([, target]) => !existsSync(join(folder, dirname(page), target!)))
      .map(([, target]) => `${page} → ${target}`)
  })
  assert.deepEqual(broken, [])
})

test('every path that a packed guide names is in the package', (t) => {
  const folder = emptyFolder(t)
  writePackedPages(folder)
  const packed = new Set(engine.manifest.files ?? [])
  const guides = join(folder, 'docs/guides')
  const pages = readdirSync(guides).filter((name) => name.endsWith('.md'))
  const named = pages.flatMap((page) => {
    const text = readFileSync(join(guides, page), 'utf8')
    return [...text.matchAll(/(?<![\w./-])(node_modules\/gatehook|packages)\/([\w./-]*\w)/g)]
  })
  assert.ok(named.length > 1)
  const missing = named.filter(
    ([, parent, path = '']) =>
      parent === 'packages' ||
      !packed.has(path.split('/')[0]!) ||
      ![engine.folder, folder].some((place) => existsSync(join(place, path))),
  )
  assert.deepEqual(
    missing.map(([path]) => path),
    [],
  )
})

test('the README of the package links to its guides', () => {
  const text = readFileSync(join(engine.folder, 'README.md'), 'utf8')
  const page = packedPage(text, 'packages/gatehook/README.md', (path) => path.startsWith('docs/'))
  assert.match(page, /\]\(docs\/guides\/first-api\.md\)/)
})

test('links out of the package become links to the registry, or text', () => {
  const isInPackage = (path: string) => path === 'docs/guides/a.md' || path === 'deploy'
  const convert = (text: string) => packedPage(text, 'docs/guides/b.md', isInPackage)
  assert.equal(
    convert('[a](a.md#part), [web](https://x.example)'),
    '[a](a.md#part), [web](https://x.example)',
  )
  assert.equal(convert('[files](../../deploy)'), '[files](../../deploy)')
  assert.equal(
    convert('[kit](../../packages/receiver/README.md)'),
    '[kit](https://www.npmjs.com/package/gatehook-receiver)',
  )
  assert.equal(convert('see [rules](../../CONTRIBUTING.md#rules).'), 'see rules.')
  assert.equal(convert('![plot](../images/plot.png)'), '')
})
