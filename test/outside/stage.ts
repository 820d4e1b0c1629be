/**
 * A temporary folder outside the repository: tarballs of every package, tools, and a project in
 * which the tarballs are installed.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { packAll, type Tarball } from '../../build/pack.ts'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'

const HERE = import.meta.dirname
const run = promisify(execFile)

export interface Stage {
  readonly root: string
  /** An installed project with the service of the README. */
  readonly project: string
  readonly tools: string
  readonly tarballs: readonly Tarball[]
  /** Folders of `node` by major version. */
  readonly nodes: Readonly<Record<'20' | '24' | '26', string>>
}

/** Variables of this process: configuration, npm script, test runner. */
const OWN_VARIABLES =
  /^(?:GATEHOOK_|npm_(?:package|lifecycle|config|command|execpath)|NODE_TEST_CONTEXT$)/

/** Returns the environment of a command, with the folder of a `node` first in PATH. */
export function environment(node: string, more: Readonly<Record<string, string>> = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !OWN_VARIABLES.test(name))
  const path = [node, process.env.PATH].join(delimiter)
  return { ...Object.fromEntries(inherited), PATH: path, ...more }
}

/** Runs a program and returns its standard output. The error contains its output. */
export async function output(
  cwd: string,
  env: NodeJS.ProcessEnv,
  program: string,
  ...args: string[]
): Promise<string> {
  try {
    // Some programs write to the folder that PWD names, as a shell sets it.
    const options = { cwd, env: { ...env, PWD: cwd }, maxBuffer: 16 * 1024 * 1024 }
    const { stdout } = await run(program, args, options)
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? String(error)}`)
  }
}

const QUIET = ['--no-audit', '--no-fund', '--loglevel=error']

export const npm = (cwd: string, node: string, ...args: string[]): Promise<string> =>
  output(cwd, environment(node), 'npm', ...args, ...QUIET)

/** Returns the text of `service.ts` in the README. */
function serviceOfReadme(): string {
  const page = readFileSync(join(HERE, '../../README.md'), 'utf8')
  const [, text] = /```ts\n(\/\/ service\.ts\n[\s\S]*?)```/.exec(page) ?? []
  if (text === undefined) throw new Error('the README has no service.ts')
  return text
}

/** Creates a project with the tarballs as dependencies and installs it with `npm ci`. */
async function installProject(project: string, tarballs: readonly Tarball[], node: string) {
  mkdirSync(project)
  const dependencies = tarballs.map(({ name, file }) => [
    name,
    `file:../tarballs/${basename(file)}`,
  ])
  const manifest = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: Object.fromEntries(dependencies),
    devDependencies: { '@types/node': '26.6.6' },
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(project, 'service.ts'), serviceOfReadme())
  cpSync(join(HERE, 'consumer'), project, { recursive: true })
  await npm(project, node, 'install', '--package-lock-only')
  await npm(project, node, 'ci')
}

export async function openStage(): Promise<Stage> {
  const root = mkdtempSync(join(tmpdir(), 'gatehook-outside-'))
  const tools = join(root, 'tools')
  const project = join(root, 'project')
  const node26 = dirname(process.execPath)
  mkdirSync(tools)
  cpSync(join(HERE, 'package.json'), join(tools, 'package.json'))
  const tarballs = packAll(join(root, 'tarballs'))
  await Promise.all([npm(tools, node26, 'install'), installProject(project, tarballs, node26)])
  const nodes = {
    20: join(tools, 'node_modules/node20/bin'),
    24: join(tools, 'node_modules/node/bin'),
    26: node26,
  }
  return { root, project, tools, tarballs, nodes }
}

/** Installs the packages in a project that other users of the machine can read. */
export async function openSharedProject(): Promise<{ readonly project: string; close(): void }> {
  const root = mkdtempSync(join(tmpdir(), 'gatehook-outside-'))
  chmodSync(root, 0o755)
  const project = join(root, 'project')
  await installProject(project, packAll(join(root, 'tarballs')), dirname(process.execPath))
  return { project, close: () => rmSync(root, { recursive: true, force: true }) }
}

export const closeStage = (stage: Stage | undefined): void => {
  if (stage) rmSync(stage.root, { recursive: true, force: true })
}

export interface RunningService {
  readonly url: string
  readonly key: string
  stop(): Promise<number | null>
}

/** Runs `gatehook start` in a project, on a fresh database. `words` run the command line. */
export async function startService(
  project: string,
  node: string,
  words: readonly string[] = [join(project, 'node_modules/.bin/gatehook')],
): Promise<RunningService> {
  const key = generateApiKey(systemRandom(), 'live')
  const data = mkdtempSync(join(dirname(project), 'data-'))
  const [program = '', ...before] = words
  const child = spawn(program, [...before, 'start', '--port', '0'], {
    cwd: project,
    env: environment(node, {
      GATEHOOK_DATABASE_URL: `sqlite:${join(data, 'gatehook.db')}`,
      GATEHOOK_BOOTSTRAP_KEY: key,
      GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  const url = await urlOf(child)
  return {
    url,
    key,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    },
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  const output: string[] = []
  child.stderr!.on('data', (chunk) => output.push(String(chunk)))
  for await (const line of createInterface({ input: child.stdout! })) {
    output.push(line)
    const { msg, url } = JSON.parse(line) as { msg?: string; url?: string }
    if (msg !== 'listening') continue
    child.stdout!.resume()
    return url!
  }
  throw new Error(`the service did not start:\n${output.join('\n')}`)
}
