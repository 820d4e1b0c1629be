/**
 * The packages of the repository, and the manifest each is published with. In the checkout
 * `exports` name TypeScript sources, which Node runs without a build; a tarball names `dist/`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '..')

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string>>
  readonly files?: readonly string[]
  readonly scripts?: Readonly<Record<string, string>>
  readonly [more: string]: unknown
}

export interface Package {
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

export function readPackage(folder: string): Package {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return { name: manifest.name, folder, manifest }
}

/** Every package that is published, by name. */
export function publishedPackages(): Package[] {
  const folders = join(root, 'packages')
  return readdirSync(folders)
    .map((name) => join(folders, name))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map(readPackage)
    .filter(({ manifest }) => manifest.private !== true)
}

const SOURCE = /^\.\/src\/(.+)\.ts$/

/**
 * The manifest of the tarball. `registry` marks what `npm publish` packs: `gatehook init` then
 * names a version of the registry instead of a tarball.
 */
export function publishedManifest({ manifest }: Package, registry = false): Manifest {
  const { scripts: _, exports, ...rest } = manifest
  const targets = Object.entries(exports ?? {}).map(([path, target]) => {
    const [, name] = SOURCE.exec(target) ?? []
    if (name === undefined) return [path, target] as const
    // `types` first: conditions apply in the order written.
    return [path, { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` }] as const
  })
  const published = {
    ...rest,
    ...(exports && { exports: Object.fromEntries(targets) }),
    ...(registry && { publishedBy: 'npm publish' }),
  }
  return published as unknown as Manifest
}

/** The declarations a consumer's compiler may read: the targets of `exports`. */
export const entryNames = ({ manifest }: Package): string[] =>
  Object.values(manifest.exports ?? {}).flatMap((target) => SOURCE.exec(target)?.[1] ?? [])
