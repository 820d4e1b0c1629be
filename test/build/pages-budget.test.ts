/** The sizes of the built pages, and what they reference. Reads the output of `npm install`. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PAGES_FOLDER } from '../../build/pages.ts'

interface Chunk {
  readonly file: string
  readonly imports?: readonly string[]
}

const manifest: Readonly<Record<string, Chunk>> = JSON.parse(
  readFileSync(join(PAGES_FOLDER, 'manifest.json'), 'utf8'),
)
const assets = readdirSync(join(PAGES_FOLDER, 'assets'))
const gzipped = (file: string): number => statSync(join(PAGES_FOLDER, `${file}.gz`)).size
const total = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + gzipped(file), 0)

/** Returns the files that a browser loads for a chunk. */
function filesOf(name: string, files = new Set<string>()): Set<string> {
  const { file, imports = [] } = manifest[name]!
  if (files.has(file)) return files
  files.add(file)
  for (const other of imports) filesOf(other, files)
  return files
}

const pageChunks = Object.keys(manifest).filter((name) => /-page\.tsx$/.test(name))

test('the first page of the console loads at most 60 kB of script', () => {
  const files = filesOf('console.html')
  filesOf('src/console/overview/overview-page.tsx', files)
  const bytes = total(files)
  assert.ok(bytes > 5000 && bytes <= 60_000, `${bytes} bytes`)
})

test('the portal starts with at most 60 kB of script', () => {
  assert.ok(total(filesOf('portal.html')) <= 60_000)
})

test('the pages and the docs have one stylesheet each, of at most 10 kB', () => {
  const styles = assets.filter((name) => name.endsWith('.css'))
  assert.deepEqual(styles.map((name) => name.split('-')[0]).sort(), ['docs', 'style'])
  for (const name of styles) {
    assert.ok(gzipped(`assets/${name}`) <= 10_000, `${name}: ${gzipped(`assets/${name}`)} bytes`)
  }
})

test('each further page adds at most 12 kB of script', () => {
  assert.ok(pageChunks.length >= 3)
  const first = filesOf('console.html')
  for (const name of pageChunks) {
    const added = [...filesOf(name)].filter((file) => !first.has(file))
    assert.ok(total(added) <= 12_000, `${name}: ${total(added)} bytes`)
  }
})

test('every script and stylesheet has its compressed forms, and a hash in its name', () => {
  const plain = assets.filter((name) => /\.(js|css)$/.test(name))
  assert.ok(plain.length > 3)
  for (const name of plain) {
    assert.match(name, /-[\w-]{8}\.(js|css)$/)
    for (const form of ['.br', '.gz']) assert.ok(assets.includes(name + form), name + form)
  }
})

test('the shells have no inline code, no inline style and no other origin', () => {
  for (const shell of ['console', 'portal']) {
    const html = readFileSync(join(PAGES_FOLDER, `${shell}.html`), 'utf8')
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/)
    assert.doesNotMatch(html, /(src|href)="(?!\/assets\/|data:,)/)
  }
})

test('the parts page is not in the build', () => {
  assert.equal(
    Object.keys(manifest).some((name) => name.includes('parts-page')),
    false,
  )
})
