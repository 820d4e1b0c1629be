/**
 * The packages of the repository and their published manifests. In the checkout, `exports` name
 * TypeScript sources, which Node runs without a build; in a tarball, files of `dist/`. Also the
 * check that the lock file pins the content of every package.
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

/** Returns every published package. */
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
 * Returns the manifest of the tarball.
 *
 * @param registry - whether it is a release; `gatehook init` then depends on the registry
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
    ...(registry && { isRelease: true }),
  }
  return published as unknown as Manifest
}

/** Returns the names of the source files that `exports` name. */
export const entryNames = ({ manifest }: Package): string[] =>
  Object.values(manifest.exports ?? {}).flatMap((target) => SOURCE.exec(target)?.[1] ?? [])

interface LockedPackage {
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Lists locked packages without a SHA-512. Workspaces and bundled packages need none. */
export const withoutIntegrity = ({ packages }: LockFile): string[] =>
  Object.entries(packages)
    .filter(([path, { link, inBundle }]) => path.includes('node_modules/') && !link && !inBundle)
    .filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    .map(([path]) => path)

/**
 * Lists optional dependencies without an entry, usually of another platform: npm drops those that
 * the registry lacks, and `npm ci` rejects the file.
 */
export const withoutEntry = ({ packages }: LockFile): string[] =>
  Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).filter(
      (name) =>
        !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  )
