/**
 * `npm run pack [PACKAGE…] [--out DIR] [--registry]`: builds packages and packs them into DIR
 * (default `tarballs/`). It packs a staged copy, so that the manifests of the checkout do not
 * change under a running process. `--registry` packs a release, and `npm publish` sends its files.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPackage } from './build.ts'
import { type Package, publishedManifest, publishedPackages, root } from './packages.ts'
import { writePackedPages } from './packed-pages.ts'

export interface Tarball {
  readonly name: string
  readonly file: string
  /** Bytes of the tarball. */
  readonly size: number
  /** Bytes of the unpacked files. */
  readonly unpackedSize: number
  readonly files: readonly string[]
}

const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** Copies a built package into `folder`, from which npm selects by the manifest's `files`. */
export function stage(unit: Package, folder: string, registry = false): void {
  for (const name of ['dist', 'bin', 'pages', 'service', 'examples', 'template', 'README.md']) {
    const from = join(unit.folder, name)
    if (existsSync(from)) cpSync(from, join(folder, name), { recursive: true })
  }
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  if (unit.manifest.files?.includes('docs')) writePackedPages(folder)
  const manifest = publishedManifest(unit, registry)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

interface NpmPackResult {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** Builds and packs one package. */
function packPackage(unit: Package, out: string, registry: boolean): Tarball {
  buildPackage(unit)
  const folder = mkdtempSync(join(tmpdir(), 'gatehook-pack-'))
  try {
    stage(unit, folder, registry)
    mkdirSync(out, { recursive: true })
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', out]
    const stdout = execFileSync(NPM, words, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { filename, size, unpackedSize, files } = firstResult(JSON.parse(stdout))
    const paths = files.map(({ path }) => path)
    return { name: unit.name, file: join(out, filename), size, unpackedSize, files: paths }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** npm 11 and older print a list, later versions an object by name. */
function firstResult(output: NpmPackResult[] | Record<string, NpmPackResult>): NpmPackResult {
  const [result] = Object.values(output)
  if (!result) throw new Error('npm pack reported no tarball')
  return result
}

/** Builds and packs the named packages, by default all. Throws for an unknown name. */
export function packAll(out: string, names: readonly string[] = [], registry = false): Tarball[] {
  const units = publishedPackages()
  const unknown = names.filter((name) => !units.some((unit) => unit.name === name))
  if (unknown.length > 0) throw new Error(`no package is named ${unknown.join(', ')}`)
  return units
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((unit) => packPackage(unit, out, registry))
}

export const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1000)} kB`

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string', default: join(root, 'tarballs') },
      registry: { type: 'boolean', default: false },
    },
  })
  const tarballs = packAll(resolve(values.out), positionals, values.registry)
  for (const { file, size, unpackedSize, files } of tarballs) {
    const sizes = `${kilobytes(size)}, ${kilobytes(unpackedSize)} unpacked, ${files.length} files`
    console.log(`${file}\n  ${sizes}`)
  }
}
