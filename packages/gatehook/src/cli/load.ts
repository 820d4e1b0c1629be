/**
 * Finds and loads the service a folder declares: `service.ts`, `service.js` or `service.mjs`,
 * exporting what `service(…)` made. Where none is declared, the reference service that ships in
 * the package.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, extname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Service } from '../resources/service.ts'
import type { Input } from './command.ts'
import { placeIn, ServiceError, UsageError } from './mistake.ts'

const FILES = ['service.ts', 'service.js', 'service.mjs']

/** The engine's own files are `.ts` in a checkout and `.js` in a package. */
const ownExtension = extname(fileURLToPath(import.meta.url))
const own = (path: string) => new URL(`${path}${ownExtension}`, import.meta.url).href
/** A package holds the reference service twice: compiled, and as a template for `init`. */
const REFERENCE = own(ownExtension === '.ts' ? '../../service/service' : '../service/service')

export interface Found {
  readonly file: string
  /** False where the folder declares nothing and the reference service stands in. */
  readonly declared: boolean
}

/**
 * Which file declares the service of `folder`. Throws a `UsageError` when there is no such folder.
 */
export function findService(folder: string): Found {
  const root = resolve(folder)
  if (!existsSync(root)) throw new UsageError(`There is no folder ${root}.`)
  if (!statSync(root).isDirectory()) {
    throw new UsageError(`${root} is a file. Name the folder that holds ${FILES[0]}.`)
  }
  const file = FILES.map((name) => join(root, name)).find((path) => existsSync(path))
  return file ? { file, declared: true } : { file: fileURLToPath(REFERENCE), declared: false }
}

/**
 * `import … from 'gatehook'` in the service means the engine that runs, wherever the folder lies
 * and whatever is installed there: a second copy of the engine would not know the first one's
 * objects.
 */
function bindEngine(): void {
  const engine: Readonly<Record<string, string>> = {
    gatehook: own('../gatehook'),
    'gatehook/app': own('../embedded'),
  }
  registerHooks({
    resolve: (specifier, context, next) => next(engine[specifier] ?? specifier, context),
  })
}

let bound = false

/**
 * Loads the declaration. Throws a `ServiceError`: each line of it names the file, mostly the line
 * too.
 */
export async function loadService(found: Found): Promise<Service> {
  if (!bound) bindEngine()
  bound = true
  let module: Record<string, unknown>
  try {
    module = await import(pathToFileURL(found.file).href)
  } catch (error) {
    throw new ServiceError(sentence(error, found.file), { cause: error })
  }
  const services = Object.values(module).filter((value) => value instanceof Service)
  const [service] = services
  if (service !== undefined && new Set(services).size === 1) return service
  const file = shown(found.file)
  throw new ServiceError(
    service === undefined
      ? `${file} exports no service. Let it end with: export const api = service(…)`
      : `${file} exports more than one service. Export the one to run.`,
  )
}

/** The service a command is about: of `--dir`, or of this folder. */
export const serviceOf = ({ options }: Pick<Input, 'options'>): Promise<Service> =>
  loadService(findService(String(options.dir ?? '.')))

const shown = (file: string) => {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

function sentence(error: unknown, file: string): string {
  if (!(error instanceof Error)) return `${shown(file)} threw ${JSON.stringify(error)}.`
  const place = placeIn(error) ?? (error instanceof SyntaxError ? syntaxPlace(file) : undefined)
  const where = place
    ? place.replace(/^(.*)(:\d+)$/, (_, path, line) => shown(path) + line)
    : shown(file)
  const hint = error.message.startsWith('Cannot find package')
    ? `. Run npm install in ${basename(resolve(file, '..'))}/ if it is a dependency.`
    : ''
  const lines = `${error.message}${hint}`.split('\n')
  return lines.map((line) => `${where}: ${line}`).join('\n')
}

/** Node tells the place of a JavaScript syntax error only when it checks the file by itself. */
function syntaxPlace(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' })
  const stack = new Error()
  stack.stack = stderr ?? ''
  return placeIn(stack)
}
