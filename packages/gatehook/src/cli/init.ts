/**
 * `gatehook init`: a small project to start from. Its service is a copy of the reference service,
 * so that there is one source; what surrounds it is `project-files.ts`.
 */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { reasonOf } from '../config/file-errors.ts'
import { makeFolder } from '../kernel/folder.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold, cyan, dim } from './output.ts'
import { PACKAGE, packEngine } from './pack-engine.ts'
import {
  json,
  type Project,
  packageJson,
  scriptsThatDiffer,
  surroundings,
} from './project-files.ts'
import { isPublished, nodeRange, packageVersion } from './version.ts'

const TEMPLATE = join(PACKAGE, 'service')
const VENDOR = 'vendor'

const npmName = (root: string) =>
  basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'my-api'

/** The `package.json` that is there; undefined where there is none. Throws a `UsageError`. */
function existingPackage(root: string): Readonly<Record<string, unknown>> | undefined {
  const file = join(root, 'package.json')
  if (!existsSync(file)) return undefined
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}.`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new UsageError(`${file} is not a JSON object.`)
}

/** The copy is the project's own from its first line on. */
function nameService(file: string, name: string): void {
  const text = readFileSync(file, 'utf8')
    .replace(
      /^\/\*\*.*\*\/\n/,
      '/** What this API is made of; each resource is a file of its own. */\n',
    )
    .replace(/name: '.*'/, `name: '${name}'`)
  writeFileSync(file, text)
}

interface Written {
  readonly root: string
  readonly name: string
  readonly files: readonly string[]
  /** Files that were there and stayed as they were. */
  readonly kept: readonly string[]
  /** Scripts of `package.json` that stayed as they were. */
  readonly keptScripts: readonly string[]
  readonly engine: string
}

/**
 * Nothing of the user's is overwritten. A folder with a `package.json` is a project to add to: its
 * other files stay, and only those of the service may not exist.
 */
function writeProject(root: string, pack: boolean): Written {
  const existing = existingPackage(root)
  const template = readdirSync(TEMPLATE).filter((name) => !/\.test\.ts$/.test(name))
  const name = typeof existing?.name === 'string' ? existing.name : npmName(root)
  const engine = pack ? `file:${VENDOR}/gatehook-${packageVersion}.tgz` : `^${packageVersion}`
  const project: Project = { name, engine, node: nodeRange }
  const files = Object.entries(surroundings(project))
  const isThere = (path: string) => existsSync(join(root, path))
  const required = existing ? template : [...template, ...files.map(([path]) => path)]
  const there = required.filter(isThere)
  if (there.length > 0) {
    throw new UsageError(
      `${root} already has ${there.join(', ')}; nothing was written. Choose an empty folder.`,
    )
  }
  const kept = files.map(([path]) => path).filter(isThere)
  // First what may fail.
  if (pack) packEngine(join(root, VENDOR))
  for (const path of template) cpSync(join(TEMPLATE, path), join(root, path), { recursive: true })
  nameService(join(root, 'service.ts'), name)
  const added = files.filter(([path]) => !kept.includes(path))
  for (const [path, text] of added) writeFileSync(join(root, path), text, { flag: 'wx' })
  writeFileSync(join(root, 'package.json'), json(packageJson(project, existing)))
  const vendor = pack ? [VENDOR] : []
  const written = [...template, ...added.map(([path]) => path), 'package.json', ...vendor].sort()
  return {
    root,
    name,
    files: written,
    kept,
    keptScripts: scriptsThatDiffer(existing ?? {}),
    engine,
  }
}

function describe(
  { root, name, files, kept, keptScripts, engine }: Written,
  pack: boolean,
): string {
  const here = relative(process.cwd(), root)
  const install = `${here && `cd ${here} && `}npm install && npm run dev`
  const stayed = [...kept, ...keptScripts.map((script) => `the script "${script}"`)]
  return [
    `${bold(name)} is written:`,
    '',
    ...files.map((path) => `  ${dim('·')} ${path}`),
    ...(stayed.length > 0 ? ['', `Left as they were: ${stayed.join(', ')}.`] : []),
    ...(pack
      ? [
          '',
          `Its dependency is ${engine}: this version is not in the registry, or --pack was given.`,
        ]
      : []),
    '',
    'Next:',
    '',
    `  ${cyan(`npx gatehook start ${here}`.trim())}   ${dim('at once, with this very Gatehook')}`,
    `  ${cyan(install)}   ${dim('as a project of its own')}`,
  ].join('\n')
}

function run({ args, options, out }: Input): undefined {
  const root = resolve(args[0] ?? '.')
  const pack = typeof options.pack === 'boolean' ? options.pack : !isPublished
  try {
    makeFolder(root)
  } catch (error) {
    throw new CommandError(`${root} cannot be made: ${reasonOf(error)}.`)
  }
  const written = writeProject(root, pack)
  const { files, kept, keptScripts } = written
  out.result({ folder: root, files, kept, keptScripts }, () => describe(written, pack))
}

export const init: CommandSpec = {
  name: 'init [DIR]',
  summary: 'write a small project to start from',
  description:
    'Writes a project with the reference service into DIR (default: this folder). A package.json ' +
    'that is there is merged with.',
  options: [
    ['--pack', 'depend on a tarball of this Gatehook in vendor/ (default while unpublished)'],
    ['--no-pack', 'depend on the version of the registry'],
  ],
  examples: [
    ['gatehook init my-api', 'makes the folder and writes the project'],
    ['cd my-api && npm install && npm run dev', 'serves it, and again after each change'],
  ],
  run,
}
