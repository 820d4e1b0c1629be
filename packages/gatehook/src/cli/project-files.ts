/**
 * The files that `gatehook init` writes beside the service: those of `template/`, and a
 * `package.json` merged with an existing one. `init.ts` writes them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE } from './own-package.ts'

const TEMPLATE = join(PACKAGE, 'template')

export interface Project {
  /** A valid npm name. */
  readonly name: string
  /** The dependency `gatehook`: a version range, or a tarball in `vendor/`. */
  readonly engine: string
  /** The engine's range of Node versions. */
  readonly node: string
}

type JsonObject = Readonly<Record<string, unknown>>

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const scripts = {
  start: 'gatehook start',
  dev: 'gatehook dev',
  test: 'gatehook check && node --test',
  types: 'tsc --noEmit',
  check: 'gatehook check',
}

const membersOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

/** The script `test` that `npm init` writes. */
const PLACEHOLDER = 'echo "Error: no test specified" && exit 1'

/** Returns the scripts of a `package.json`, without the placeholder of `npm init`. */
const ownScripts = (existing: JsonObject | undefined): JsonObject => {
  const { test, ...others } = membersOf(existing?.scripts)
  return test === undefined || test === PLACEHOLDER ? others : { ...others, test }
}

/**
 * Returns the project's `package.json`. Existing members win, except `type` and the engine. Node is
 * an optional dependency, so that an image with its own Node can omit it; the range of an existing
 * dependency on it moves there.
 */
export function packageJson({ name, engine, node }: Project, existing?: JsonObject): JsonObject {
  const { node: nodeDependency = '^26', ...dependencies } = membersOf(existing?.dependencies)
  const mergeMember = (member: string, defaults: JsonObject) => ({
    [member]: { ...defaults, ...membersOf(existing?.[member]) },
  })
  return {
    ...(existing ?? { name, version: '0.1.0', private: true }),
    type: 'module',
    ...mergeMember('engines', { node }),
    scripts: { ...scripts, ...ownScripts(existing) },
    dependencies: { ...dependencies, gatehook: engine },
    ...mergeMember('optionalDependencies', { node: nodeDependency }),
    ...mergeMember('devDependencies', { '@types/node': '^26', typescript: '^7' }),
    ...mergeMember('allowScripts', { node: true }),
  }
}

/** Names the scripts that an existing `package.json` defines otherwise. */
export const scriptsThatDiffer = (existing: JsonObject): string[] => {
  const own = ownScripts(existing)
  return Object.entries(scripts)
    .filter(([name, text]) => own[name] !== undefined && own[name] !== text)
    .map(([name]) => name)
}

/** npm packs no `.gitignore`. */
const nameOf = (file: string): string => file.replace(/^(git|docker)ignore$/, '.$&')

/** Returns path → text of each file of `template/`, for this project. */
export function templateFiles({ name, engine }: Project): Readonly<Record<string, string>> {
  const isPacked = engine.startsWith('file:')
  const texts = readdirSync(TEMPLATE).map((file) => {
    const text = readFileSync(join(TEMPLATE, file), 'utf8')
      .replace(/^# my-api\n/, `# ${name}\n`)
      .replace(/^COPY vendor .*\n/m, isPacked ? '$&' : '')
    return [nameOf(file), text]
  })
  return Object.fromEntries(texts)
}
