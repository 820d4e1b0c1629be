/**
 * `gatehook init`: writes a small project. Its service is a copy of the reference service;
 * `project-files.ts` has the other files.
 */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { describeFileError, makeFolder } from '../kernel/files.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { bold, cyan, dim, type Output } from './output.ts'
import {
  isCheckout,
  isNodeSupported,
  isPublished,
  nodeRange,
  PACKAGE,
  PROJECT_MODE,
  packageVersion,
  packOwnPackage,
} from './own-package.ts'
import {
  json,
  type Project,
  packageJson,
  scriptsThatDiffer,
  templateFiles,
} from './project-files.ts'

const SERVICE = join(PACKAGE, 'service')
const VENDOR = 'vendor'

const npmName = (root: string) =>
  basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'my-api'

/** Reads the `package.json` of the folder; undefined without one. Throws `UsageError`. */
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

/** Renames the copied service and replaces its first comment. */
function nameService(file: string, name: string): void {
  const text = readFileSync(file, 'utf8')
    .replace(
      /^\/\*\*.*\*\/\n/,
      '/** The resources and versions of this API; each resource has its own file. */\n',
    )
    .replace(/name: '.*'/, `name: '${name}'`)
  writeFileSync(file, text)
}

interface WrittenProject {
  readonly root: string
  readonly name: string
  readonly files: readonly string[]
  readonly existingFiles: readonly string[]
  /** Existing scripts of `package.json`, left unchanged. */
  readonly existingScripts: readonly string[]
  readonly engine: string
}

/**
 * Writes the project; it overwrites no file of the user. A folder with a `package.json` is an
 * existing project: its files remain, and only files of the service must not exist.
 */
function writeProject(root: string, pack: boolean, report: Output['progress']): WrittenProject {
  const manifest = existingPackage(root)
  if (manifest?.type === 'commonjs') {
    throw new UsageError(
      `${join(root, 'package.json')} has "type": "commonjs", and a service consists of ES ` +
        'modules; nothing was written. Choose a folder of its own, or set "type": "module" first.',
    )
  }
  const serviceFiles = readdirSync(SERVICE).filter((name) => !/\.test\.ts$/.test(name))
  const name = typeof manifest?.name === 'string' ? manifest.name : npmName(root)
  const engine = pack ? `file:${VENDOR}/gatehook-${packageVersion}.tgz` : `^${packageVersion}`
  const project: Project = { name, engine, node: nodeRange }
  const files = Object.entries(templateFiles(project))
  const isPresent = (path: string) => existsSync(join(root, path))
  const paths = manifest ? serviceFiles : [...serviceFiles, ...files.map(([path]) => path)]
  const conflicts = paths.filter(isPresent)
  if (conflicts.length > 0) {
    throw new UsageError(
      `${root} already has ${conflicts.join(', ')}; nothing was written. Choose an empty folder.`,
    )
  }
  const existingFiles = files.map(([path]) => path).filter(isPresent)
  // First, because it may fail.
  if (pack) {
    if (isCheckout) report(`Compiles Gatehook for ${VENDOR}/: about half a minute.`)
    packOwnPackage(join(root, VENDOR))
  }
  for (const path of serviceFiles)
    cpSync(join(SERVICE, path), join(root, path), { recursive: true })
  nameService(join(root, 'service.ts'), name)
  const addedFiles = files.filter(([path]) => !existingFiles.includes(path))
  for (const [path, text] of addedFiles) writeFileSync(join(root, path), text, { flag: 'wx' })
  writeFileSync(join(root, 'package.json'), json(packageJson(project, manifest)))
  const vendor = pack ? [VENDOR] : []
  const writtenPaths = [
    ...serviceFiles,
    ...addedFiles.map(([path]) => path),
    'package.json',
    ...vendor,
  ].sort()
  return {
    root,
    name,
    files: writtenPaths,
    existingFiles,
    existingScripts: scriptsThatDiffer(manifest ?? {}),
    engine,
  }
}

function describe(
  { root, name, files, existingFiles, existingScripts, engine }: WrittenProject,
  pack: boolean,
): string {
  const here = relative(process.cwd(), root)
  const install = `${here && `cd ${here} && `}npm install && npm run dev`
  const unchangedParts = [
    ...existingFiles,
    ...existingScripts.map((script) => `the script "${script}"`),
  ]
  return [
    `${bold(name)} is written:`,
    '',
    ...files.map((path) => `  ${dim('·')} ${path}`),
    ...(unchangedParts.length > 0 ? ['', `Left unchanged: ${unchangedParts.join(', ')}.`] : []),
    ...(pack
      ? [
          '',
          `Its dependency is ${engine}: this version is not in the registry, or --pack was given.`,
        ]
      : []),
    '',
    'Next:',
    '',
    // An older Node runs `init` only; the installed project brings its own Node.
    ...(isNodeSupported(process.versions.node)
      ? [`  ${cyan(`npx gatehook start ${here}`.trim())}   ${dim('at once, without npm install')}`]
      : []),
    `  ${cyan(install)}   ${dim('as a project of its own')}`,
  ].join('\n')
}

/** Member of the JSON result. */
const KEPT_FILES = 'kept'

function run({ args, options, out }: Input): undefined {
  const root = resolve(args[0] ?? '.')
  const pack = typeof options.pack === 'boolean' ? options.pack : !isPublished
  try {
    makeFolder(root, PROJECT_MODE)
  } catch (error) {
    throw new CommandError(`${root} cannot be created: ${describeFileError(error)}.`)
  }
  const project = writeProject(root, pack, out.progress)
  const { files, existingFiles, existingScripts } = project
  const result = {
    folder: root,
    files,
    [KEPT_FILES]: existingFiles,
    keptScripts: existingScripts,
  }
  out.result(result, () => describe(project, pack))
}

export const init: CommandSpec = {
  name: 'init [DIR]',
  summary: 'write a small project to start from',
  description:
    'Writes a project with the reference service into DIR (default: this folder). Merges with an ' +
    'existing package.json.',
  options: [
    ['--pack', 'depend on a tarball of this copy in vendor/ (default while unpublished)'],
    ['--no-pack', 'depend on the version of the registry'],
  ],
  examples: [
    ['gatehook init my-api', 'creates the folder and writes the project'],
    ['cd my-api && npm install && npm run dev', 'serves it, and restarts after each change'],
  ],
  run,
}
