/** Contenders: how each is started, and its data. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH_KEY } from './data.ts'
import { fillGatehook, fillHandmade } from './fill.ts'
import { type Command, startServer } from './server.ts'

export interface Contender {
  /** Contenders with an equal key share a process. */
  readonly key: string
  /** Name of its data folder; contenders that only read may share one. */
  readonly folder: string
  /** Fills an empty folder. */
  prepare(folder: string): Promise<void>
  command(folder: string): Command
  /** Returns why the contender is not available; undefined if it is. */
  absent?(): string | undefined
}

const file = (path: string) => new URL(path, import.meta.url).pathname

/** Returns a program of `contenders/` without data. */
export const program = (name: string, ...args: string[]): Contender => ({
  key: [name, ...args].join(' '),
  folder: name,
  prepare: async () => {},
  command: () => ({ args: [file(`contenders/${name}.ts`), ...args] }),
})

/** `hello` is Fastify; `raw` is node:http; `fixed` does not parse requests. */
export const bare = (name: 'hello' | 'raw' | 'fixed') => program(name)

export const hello = () => bare('hello')

export interface HandmadeOptions {
  readonly users: number
  readonly tied?: boolean
  readonly full?: boolean
  readonly store?: 'none' | 'each' | 'group'
}

export function handmade(options: HandmadeOptions): Contender {
  const { users, tied = false, full = false, store } = options
  const data = `handmade-${users}${tied ? '-tied' : ''}${store ? `-${store}` : ''}`
  return {
    key: `${data}${full ? '-full' : ''}`,
    folder: data,
    prepare: async (folder) => fillHandmade(join(folder, 'handmade.db'), { users, tied }),
    command: (folder) => ({
      args: [
        file('contenders/handmade.ts'),
        '--db',
        join(folder, 'handmade.db'),
        ...(full ? ['--full'] : []),
        ...(store ? ['--store', store] : []),
      ],
    }),
  }
}

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
}

export const GATEHOOK_DATABASE = 'gatehook.db'

/** `gatehook start` with default settings, except for the request limit. */
export function gatehook(options: GatehookOptions): Contender {
  const { users, tied = false, own, service, orders = 0, requestLog } = options
  const words = [
    users,
    tied ? 'tied' : '',
    own ?? '',
    service ?? '',
    orders || '',
    requestLog ?? '',
  ]
  const parts = words.filter((part) => part !== '')
  const data = `gatehook-${parts.join('-')}`
  const command = (folder: string) =>
    gatehookCommand(`sqlite:${join(folder, GATEHOOK_DATABASE)}`, service, requestLog)
  return {
    key: data,
    folder: data,
    async prepare(folder) {
      if (users === 0) return
      await startOnce(command(folder), folder)
      fillGatehook(join(folder, GATEHOOK_DATABASE), { users, tied, orders })
    },
    command,
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

const CLI = file('../packages/gatehook/bin/gatehook.cjs')

export function gatehookCommand(
  databaseUrl: string,
  service?: string,
  requestLog = 'all',
): Command {
  if (!existsSync(CLI)) throw new Error('packages/gatehook/bin/gatehook.cjs is not there')
  return {
    args: [CLI, 'start', ...(service ? [file(`contenders/${service}`)] : [])],
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
