/**
 * Applications of `npm run chaos:emit` (§17.2): each emits events in its own transaction, in the
 * manner of a library. Their packages are installed in a folder, which the test removes.
 */
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { output } from '../outside/stage.ts'

interface EmitterKind {
  readonly npm?: readonly string[]
  readonly pip?: readonly string[]
  readonly go?: readonly string[]
  /** A further command before the first start. */
  readonly prepare?: readonly string[]
  readonly command: readonly string[]
}

const NODE = process.execPath
const PYTHON = 'venv/bin/python'
const PG = 'pg@8.23.1'
const PSYCOPG = 'psycopg[binary]==3.3.9'

const kinds = {
  pg: { npm: [PG], command: [NODE, 'pg.mjs'] },
  drizzle: { npm: [PG, 'drizzle-orm@0.45.4'], command: [NODE, 'drizzle.mjs'] },
  prisma: {
    npm: ['prisma@7.10.0', '@prisma/client@7.10.0', '@prisma/adapter-pg@7.10.0'],
    prepare: [NODE, 'node_modules/prisma/build/index.js', 'generate', '--schema=schema.prisma'],
    command: [NODE, 'prisma.mjs'],
  },
  psycopg: { pip: [PSYCOPG], command: [PYTHON, 'psycopg_client.py'] },
  sqlalchemy: { pip: [PSYCOPG, 'sqlalchemy==2.1.9'], command: [PYTHON, 'sqlalchemy_client.py'] },
  pgx: { go: ['github.com/jackc/pgx/v5/pgxpool@v5.12.0'], command: ['./pgx/pgx'] },
} satisfies Record<string, EmitterKind>

export type EmitterName = keyof typeof kinds

export const emitterNames = Object.keys(kinds) as EmitterName[]

export interface Emitter {
  readonly name: EmitterName
  readonly folder: string
  readonly command: readonly string[]
}

/** Without it the generator of Prisma downloads an engine that it does not start. */
const ENVIRONMENT = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: NODE }
const QUIET = ['--no-audit', '--no-fund', '--loglevel=error', '--no-save']

/**
 * Copies the applications into a folder, and installs the packages of those that are named. An
 * existing folder has them.
 */
export async function installEmitters(
  folder: string,
  names: readonly EmitterName[],
): Promise<Emitter[]> {
  const isInstalled = existsSync(folder)
  cpSync(join(import.meta.dirname, 'emitters'), folder, { recursive: true })
  const selected: (readonly [EmitterName, EmitterKind])[] = names.map((name) => [name, kinds[name]])
  const toCommands = () =>
    selected.map(([name, { command }]): Emitter => ({ name, folder, command }))
  if (isInstalled) return toCommands()
  const packages = (of: 'npm' | 'pip' | 'go') => [
    ...new Set(selected.flatMap(([, kind]) => kind[of] ?? [])),
  ]
  const run = (program: string, ...args: string[]) => output(folder, ENVIRONMENT, program, ...args)
  const inGo = (...args: string[]) => output(join(folder, 'pgx'), process.env, 'go', ...args)
  const [npm, pip, go] = [packages('npm'), packages('pip'), packages('go')]
  // Their scripts would download programs that the applications do not use.
  if (npm.length > 0) await run('npm', 'install', ...QUIET, '--ignore-scripts', ...npm)
  if (pip.length > 0) {
    await run('python3', '-m', 'venv', 'venv')
    await run(PYTHON, '-m', 'pip', 'install', '--quiet', ...pip)
  }
  if (go.length > 0) {
    await inGo('mod', 'init', 'pgx')
    await inGo('get', ...go)
    await inGo('build', '-o', 'pgx', '.')
  }
  for (const [, { prepare }] of selected) {
    if (prepare) await run(prepare[0]!, ...prepare.slice(1))
  }
  return toCommands()
}
