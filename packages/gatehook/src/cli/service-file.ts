/**
 * Finds and loads the service that a folder declares: `service.ts`, `service.js` or `service.mjs`,
 * which exports the result of `service(…)`. In a folder without one, the reference service of this
 * package.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, extname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { collectMistakes } from '../fields/declaration-mistakes.ts'
import { Service } from '../resources/service.ts'
import type { Input } from './command.ts'
import { locationOf, ServiceError, UsageError } from './errors.ts'

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

/** Returns the file that declares the service of `folder`. Throws `UsageError` for no folder. */
export function findService(folder: string): ServiceFile {
  const root = resolve(folder)
  if (!existsSync(root)) throw new UsageError(`There is no folder ${root}.`)
  if (!statSync(root).isDirectory()) {
    throw new UsageError(`${root} is a file. Name the folder that holds ${FILES[0]}.`)
  }
  const path = FILES.map((name) => join(root, name)).find((file) => existsSync(file))
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

/** Loads the declaration. Each sentence of its `ServiceError` names the file and the line. */
export async function loadService({ path }: ServiceFile): Promise<Service> {
  if (!isResolving) resolveToEngine()
  isResolving = true
  const { value: module, errors } = await collectMistakes(
    (): Promise<Record<string, unknown>> => import(pathToFileURL(path).href),
  )
  if (errors.length > 0) {
    const text = errors.map((error) => loadErrorText(error, path)).join('\n')
    throw new ServiceError(text, { cause: errors.at(-1) })
  }
  const services = Object.values(module!).filter((value) => value instanceof Service)
  const [service] = services
  if (service !== undefined && new Set(services).size === 1) return service
  const file = displayPath(path)
  throw new ServiceError(
    service === undefined
      ? `${file} exports no service. Its last line: export const api = service(…)`
      : `${file} exports more than one service. Export the one to run.`,
  )
}

/** Loads the service of `--dir`, by default of this folder. */
export const serviceOf = ({ options }: Pick<Input, 'options'>): Promise<Service> =>
  loadService(findService(String(options.dir ?? '.')))

const displayPath = (file: string) => {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

function loadErrorText(error: unknown, file: string): string {
  if (!(error instanceof Error)) return `${displayPath(file)} threw ${JSON.stringify(error)}.`
  const location =
    locationOf(error) ?? (error instanceof SyntaxError ? syntaxErrorLocation(file) : undefined)
  const prefix = location
    ? location.replace(/^(.*)(:\d+)$/, (_, path, line) => displayPath(path) + line)
    : displayPath(file)
  const hint = error.message.startsWith('Cannot find package')
    ? `. Run npm install in ${basename(resolve(file, '..'))}/ if it is a dependency.`
    : ''
  const lines = `${error.message}${hint}`.split('\n')
  return lines.map((line) => `${prefix}: ${line}`).join('\n')
}

/** Node reports the line of a JavaScript syntax error only with `--check`. */
function syntaxErrorLocation(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  const stack = new Error()
  stack.stack = stderr ?? ''
  return locationOf(stack)
}
