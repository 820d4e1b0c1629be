/**
 * Finds and loads the service that a folder declares: `service.ts`, `service.js` or `service.mjs`,
 * which exports the result of `service(…)`. In a folder without one, the reference service of this
 * package.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Service } from '../declare/resources/service.ts'
import { loadServiceModule } from '../declare/resources/service-module.ts'
import type { Input } from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'

/** A misspelt or misplaced name: without the file, the reference service would be served. */
const SIMILAR = /^services?\.[cm]?[jt]sx?$/i
const FILES = ['service.ts', 'service.js', 'service.mjs']

/** The engine's own files are `.ts` in a checkout and `.js` in a package. */
const ownExtension = extname(fileURLToPath(import.meta.url))
const ownFile = (path: string) => new URL(`${path}${ownExtension}`, import.meta.url).href
/** A package contains the reference service twice: compiled, and as a template for `init`. */
const REFERENCE = ownFile(ownExtension === '.ts' ? '../../service/service' : '../service/service')

export interface ServiceFile {
  readonly path: string
  /** False for the reference service. */
  readonly isDeclared: boolean
}

/**
 * Returns the file that declares the service of `folder`. Throws `UsageError` for no folder, and
 * `CommandError` for a file with a similar name.
 */
export function findService(folder: string): ServiceFile {
  const root = resolve(folder)
  if (!existsSync(root)) throw new UsageError(`There is no folder ${root}.`)
  if (!statSync(root).isDirectory()) {
    throw new UsageError(`${root} is a file. Name the folder that holds ${FILES[0]}.`)
  }
  const path = FILES.map((name) => join(root, name)).find((file) => existsSync(file))
  const similar = path ? undefined : readdirSync(root).find((name) => SIMILAR.test(name))
  if (similar !== undefined) {
    throw new CommandError(
      `There is no ${FILES[0]} in ${root}, but ${similar}. Rename it to ${FILES.join(' or ')}.`,
      EXIT.configuration,
    )
  }
  return path ? { path, isDeclared: true } : { path: fileURLToPath(REFERENCE), isDeclared: false }
}

/**
 * Resolves `import … from 'gatehook'` in the service to the running engine. The classes of a second
 * copy, installed in the folder, would fail `instanceof`.
 */
function resolveToEngine(): void {
  const engine: Readonly<Record<string, string>> = {
    gatehook: ownFile('../gatehook'),
    'gatehook/app': ownFile('../embedded'),
  }
  registerHooks({
    resolve: (specifier, context, next) => next(engine[specifier] ?? specifier, context),
  })
}

let isResolving = false

/** Loads the declaration. Each line of its `DeclarationError` names the file and the line. */
export async function loadService({ path }: ServiceFile): Promise<Service> {
  if (!isResolving) resolveToEngine()
  isResolving = true
  return loadServiceModule(() => import(pathToFileURL(path).href), path)
}

/** Loads the service of a command line. */
export const serviceOf = ({ folder }: Pick<Input, 'folder'>): Promise<Service> =>
  loadService(findService(folder))
