/** How a process of Gatehook is started, on any database. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from '../build/build.ts'
import { stage } from '../build/pack.ts'
import { readPackage, root } from '../build/packages.ts'
import { BENCH_KEY } from './data.ts'
import { type Command, startServer } from './server.ts'

export interface GatehookOptions {
  /** 0 to prepare no data: the first start creates the database. */
  readonly users: number
  readonly tied?: boolean
  /** Name of a separate database, for rows that write. */
  readonly own?: string
  /** A folder of `contenders/` that declares another service. */
  readonly service?: string
  /** Orders of the service `collections`. Default 0. */
  readonly orders?: number
  /** `GATEHOOK_REQUEST_LOG`; default `all`. */
  readonly requestLog?: 'off'
  /** Whether the files of the npm package run. Default: the sources. */
  readonly packaged?: boolean
}

/** Returns the name of the data that the options describe. */
export function dataName(options: GatehookOptions): string {
  const { users, tied = false, own, service, orders = 0, requestLog } = options
  const words = [users, tied ? 'tied' : '', own, service, orders || '', requestLog]
  return words.filter((word) => word !== undefined && word !== '').join('-')
}

const file = (path: string) => new URL(path, import.meta.url).pathname
const CLI = file('../packages/gatehook/bin/gatehook.cjs')

let packagedCli: string | undefined

/** Builds the npm package once for a run, in a folder below the dependencies of the checkout. */
function buildCli(): string {
  const unit = readPackage(join(root, 'packages', 'gatehook'))
  const folder = join(root, 'data', 'bench-package')
  rmSync(folder, { recursive: true, force: true })
  buildPackage(unit)
  stage(unit, folder)
  return join(folder, 'bin', 'gatehook.cjs')
}

type ProcessOptions = Pick<GatehookOptions, 'service' | 'packaged'> & { requestLog: 'all' | 'off' }

/** `gatehook start` with default settings, except for the request limit. */
export function gatehookCommand(
  databaseUrl: string,
  { service, requestLog = 'all', packaged = false }: Partial<ProcessOptions> = {},
): Command {
  if (!existsSync(CLI)) throw new Error('packages/gatehook/bin/gatehook.cjs is not there')
  const cli = packaged ? (packagedCli ??= buildCli()) : CLI
  return {
    args: [cli, 'start', ...(service ? [file(`contenders/${service}`)] : [])],
    env: {
      GATEHOOK_PORT: '0',
      GATEHOOK_DATABASE_URL: databaseUrl,
      GATEHOOK_BOOTSTRAP_KEY: BENCH_KEY,
      GATEHOOK_RATE_LIMIT: '0',
      GATEHOOK_LOG_LEVEL: 'info',
      GATEHOOK_REQUEST_LOG: requestLog,
    },
  }
}

/** Starts and stops a contender, so that it creates its database. */
export async function startOnce(command: Command, folder: string): Promise<void> {
  const server = await startServer(command, join(folder, 'first.log'), undefined)
  // After its first response it handles SIGTERM.
  await (await fetch(server.url)).arrayBuffer()
  const code = await server.end('SIGTERM')
  if (code !== 0) throw new Error(`gatehook's first start ended with ${code} on SIGTERM`)
}
