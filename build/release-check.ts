/**
 * `npm run release:check`: the checks before a release. Writes the tarballs and the SBOM
 * (CycloneDX) to `tarballs/`; publishes nothing.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kilobytes, packAll } from './pack.ts'
import {
  publishedManifest,
  publishedPackages,
  root,
  withoutEntry,
  withoutIntegrity,
} from './packages.ts'

const OUT = join(root, 'tarballs')
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm'
const read = (name: string) => readFileSync(join(root, name), 'utf8')

/** A check: returns a line of its result; throws if it fails. */
type Step = () => string

function checkVersions(): string {
  const units = publishedPackages()
  const versions = new Set(units.map(({ manifest }) => manifest.version))
  if (versions.size !== 1) throw new Error(`packages differ: ${[...versions].join(', ')}`)
  const [version] = versions
  for (const { name, manifest } of units) {
    const dependencies = (manifest.dependencies ?? {}) as Readonly<Record<string, string>>
    for (const { name: other } of units) {
      const range = dependencies[other]
      if (range === undefined || range === `^${version}`) continue
      throw new Error(`${name} depends on ${other} ${range}, not ^${version}`)
    }
  }
  return `${units.length} packages, version ${version}`
}

function checkChangelog(): string {
  const version = publishedPackages()[0]?.manifest.version ?? ''
  const heading = read('CHANGELOG.md')
    .split('\n')
    .find((line) => line.startsWith(`## [${version}]`))
  if (!heading) throw new Error(`CHANGELOG.md has no section [${version}]`)
  const dated = / - \d{4}-\d{2}-\d{2}$/.test(heading)
  return dated ? heading : `${heading}; replace "unreleased" by the day of the release`
}

function checkLockFile(): string {
  const lock = JSON.parse(read('package-lock.json'))
  const missing = withoutIntegrity(lock)
  if (missing.length > 0) throw new Error(`without integrity: ${missing.join(', ')}`)
  const unlisted = withoutEntry(lock)
  if (unlisted.length > 0) throw new Error(`without an entry: ${unlisted.join(', ')}`)
  return `${Object.keys(lock.packages).length} entries, each with its integrity`
}

function pack(): string {
  rmSync(OUT, { recursive: true, force: true })
  return packAll(OUT, [], true)
    .map(({ name, size }) => `${name} ${kilobytes(size)}`)
    .join(', ')
}

interface Sbom {
  readonly bomFormat?: string
  readonly components?: readonly { readonly name: string }[]
}

/**
 * Writes the SBOM of an installation of `gatehook`. npm resolves the published manifest in another
 * folder: in the workspace it would omit dependencies shared with development.
 */
function writeSbom(): string {
  const engine = publishedPackages().find(({ name }) => name === 'gatehook')
  if (!engine) throw new Error('there is no package gatehook')
  const above = mkdtempSync(join(tmpdir(), 'gatehook-sbom-'))
  const folder = join(above, engine.name) // npm names the document after it
  const npm = (...words: string[]) =>
    execFileSync(NPM, [...words, '--package-lock-only', '--omit=dev'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
    })
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), JSON.stringify(publishedManifest(engine)))
    npm('install', '--no-audit', '--no-fund')
    const text = npm('sbom', '--sbom-format', 'cyclonedx')
    const { bomFormat, components = [] } = JSON.parse(text) as Sbom
    const listed = new Set(components.map(({ name }) => name))
    const direct = Object.keys(engine.manifest.dependencies ?? {})
    const missing = direct.filter((name) => !listed.has(name))
    if (bomFormat !== 'CycloneDX' || missing.length > 0) {
      throw new Error(`the SBOM misses ${missing.join(', ') || 'its format'}`)
    }
    mkdirSync(OUT, { recursive: true })
    writeFileSync(join(OUT, 'gatehook.cdx.json'), text)
    return `tarballs/gatehook.cdx.json, ${components.length} components`
  } finally {
    rmSync(above, { recursive: true, force: true })
  }
}

function testOutside(): string {
  execFileSync(NPM, ['run', '--silent', 'test:outside'], { cwd: root, stdio: 'inherit' })
  return 'every test passed'
}

const steps: readonly (readonly [name: string, step: Step])[] = [
  ['versions', checkVersions],
  ['changelog', checkChangelog],
  ['lock file', checkLockFile],
  ['tarballs', pack],
  ['SBOM', writeSbom],
  ['outside', testOutside],
]

for (const [name, step] of steps) {
  try {
    console.log(`ok    ${name}: ${step()}`)
  } catch (error) {
    console.error(`fail  ${name}: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
