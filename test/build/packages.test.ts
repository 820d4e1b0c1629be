/** How packages are published: the manifest of a tarball, and the lock file behind it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { withScripts } from '../../build/build.ts'
import {
  publishedManifest,
  publishedPackages,
  withoutEntry,
  withoutIntegrity,
} from '../../build/packages.ts'

test('a published manifest exports compiled files, types first, and has no scripts', () => {
  const units = publishedPackages()
  assert.deepEqual(units.map(({ name }) => name).sort(), [
    'create-gatehook',
    'gatehook',
    'gatehook-client',
    'gatehook-receiver',
  ])
  for (const unit of units) {
    const { exports = {}, scripts, version, engines } = publishedManifest(unit)
    assert.equal(scripts, undefined)
    assert.deepEqual([version, engines], [unit.manifest.version, unit.manifest.engines])
    for (const [path, target] of Object.entries(exports)) {
      if (path === './package.json') continue
      assert.deepEqual(Object.keys(target), ['types', 'default'])
      assert.match(Object.values(target).join(' '), /^\.\/dist\/([\w-]+)\.d\.ts \.\/dist\/\1\.js$/)
    }
  }
})

test('imports of declarations name scripts, and comments stay as they are', () => {
  const text = [
    "/** `() => import('./service.ts')`",
    " * from './no-file.ts' */",
    "import type { A } from './a.ts';",
    'export type Path = \'/docs/*\' | import("../b.ts").B;',
    "export { C } from './c.ts'; /* './d.ts' */",
  ]
  const expected = text.with(2, "import type { A } from './a.js';")
  expected[3] = 'export type Path = \'/docs/*\' | import("../b.js").B;'
  expected[4] = "export { C } from './c.js'; /* './d.ts' */"
  assert.deepEqual(withScripts(text.join('\n')).split('\n'), expected)
})

test('only a release is marked as one', () => {
  const [unit] = publishedPackages()
  assert.ok(unit)
  assert.equal('isRelease' in publishedManifest(unit), false)
  assert.equal('isRelease' in publishedManifest(unit, true), true)
})

const lockFile = () =>
  JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))

test('every package of the lock file has an integrity hash', () => {
  assert.deepEqual(withoutIntegrity(lockFile()), [])
})

test('npm ci finds the packages of every platform in the lock file', () => {
  assert.deepEqual(withoutEntry(lockFile()), [])
})

test('optional dependencies without an entry are listed', () => {
  const optionalDependencies = { here: '1', nested: '1', absent: '1' }
  const packages = {
    'node_modules/tool': { optionalDependencies },
    'node_modules/here': {},
    'node_modules/tool/node_modules/nested': {},
  }
  assert.deepEqual(withoutEntry({ packages }), ['absent'])
})

test('packages without a SHA-512 are listed', () => {
  const packages = {
    '': {},
    'packages/client': {},
    'node_modules/gatehook-client': { link: true },
    'node_modules/pinned': { integrity: 'sha512-x' },
    'node_modules/old': { integrity: 'sha1-x' },
    'packages/client/node_modules/none': {},
    'node_modules/pinned/node_modules/inside': { inBundle: true },
  }
  assert.deepEqual(withoutIntegrity({ packages }), [
    'node_modules/old',
    'packages/client/node_modules/none',
  ])
})
