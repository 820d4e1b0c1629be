/**
 * Loads the code that declares a service, for `gatehook start` and `openApp`. Reports all mistakes
 * of the declaration in one error, each with its file and line.
 */
import { spawnSync } from 'node:child_process'
import { basename, relative, resolve } from 'node:path'
import {
  collectMistakes,
  DeclarationError,
  reportMistakes,
} from '../../protocol/fields/declaration-mistakes.ts'
import { locationOf } from './call-site.ts'
import { findUnusedGrants } from './scopes.ts'
import { Service } from './service.ts'

/** A service, or the exports of the module that declares it. */
export type ServiceModule = Service | Readonly<Record<string, unknown>>

/** A second import returns the same module, and runs none of its calls. */
const invalidModules = new WeakMap<object, DeclarationError>()

/**
 * Returns the service, or the one that a function declares. Throws `DeclarationError` with a line
 * for each mistake.
 *
 * @param file - the path of the module; default: none
 */
export async function loadServiceModule(
  source: Service | (() => ServiceModule | Promise<ServiceModule>),
  file?: string,
): Promise<Service> {
  const { value, errors } = await collectMistakes(async () => {
    const loaded = source instanceof Service ? source : await source()
    const [service, ...others] = servicesOf(loaded)
    if (service && others.length === 0) reportMistakes(findUnusedGrants(service.definition))
    return loaded
  })
  const earlier = value && invalidModules.get(value)
  if (earlier) throw earlier
  if (errors.length > 0) {
    const text = inOrder(errors)
      .map((error) => mistakeText(error, file))
      .join('\n')
    const error = new DeclarationError(text, { cause: errors.at(-1) })
    if (value) invalidModules.set(value, error)
    throw error
  }
  const [service, ...others] = servicesOf(value!)
  if (service !== undefined && others.length === 0) return service
  const name = displayPath(file)
  throw new DeclarationError(
    service === undefined
      ? `${name} exports no service. Its last line: export const api = service(…)`
      : `${name} exports more than one service. Export the one to run.`,
  )
}

/** Sorts the mistakes of each file by line; files are in the order of their first mistake. */
function inOrder(errors: readonly unknown[]): readonly unknown[] {
  const files: string[] = []
  const places = errors.map((error) => {
    if (!(error instanceof DeclarationError)) return [Number.POSITIVE_INFINITY, 0] as const
    const [, file = '', line = 0] = /^(.*):(\d+)$/.exec(locationOf(error) ?? '') ?? []
    if (!files.includes(file)) files.push(file)
    return [files.indexOf(file), Number(line)] as const
  })
  return errors
    .map((error, at) => ({ error, file: places[at]![0], line: places[at]![1] }))
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file - b.file))
    .map(({ error }) => error)
}

const servicesOf = (loaded: ServiceModule): readonly Service[] =>
  loaded instanceof Service
    ? [loaded]
    : [...new Set(Object.values(loaded).filter((member) => member instanceof Service))]

function displayPath(file: string | undefined): string {
  if (file === undefined) return 'The module'
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}

function mistakeText(error: unknown, file: string | undefined): string {
  if (!(error instanceof Error)) return `${displayPath(file)} threw ${JSON.stringify(error)}.`
  const isSyntaxError = error instanceof SyntaxError && file !== undefined
  const location = locationOf(error) ?? (isSyntaxError ? syntaxErrorLocation(file) : undefined)
  const prefix = location
    ? location.replace(/^(.*)(:\d+)$/, (_, path, line) => displayPath(path) + line)
    : displayPath(file)
  const hint =
    error.message.startsWith('Cannot find package') && file !== undefined
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
