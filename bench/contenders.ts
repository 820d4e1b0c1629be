/** Contenders: how each is started, and its data. */
import { join } from 'node:path'
import type { Contender } from './contender.ts'
import { gatehookOnPostgres } from './contenders-postgres.ts'
import { type DatabaseName, selectedDatabase } from './database.ts'
import { fillGatehook, fillHandmade } from './fill.ts'
import { dataName, type GatehookOptions, gatehookCommand, startOnce } from './gatehook-process.ts'

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

export const GATEHOOK_DATABASE = 'gatehook.db'

/** Gatehook on the database of this run. */
export const gatehook = (options: GatehookOptions): Contender =>
  gatehookOn(selectedDatabase(), options)

export const gatehookOn = (database: DatabaseName, options: GatehookOptions): Contender =>
  database === 'postgres' ? gatehookOnPostgres(options) : gatehookOnSqlite(options)

function gatehookOnSqlite(options: GatehookOptions): Contender {
  const { users, tied = false, orders = 0 } = options
  const data = `gatehook-${dataName(options)}`
  const command = (folder: string) =>
    gatehookCommand(`sqlite:${join(folder, GATEHOOK_DATABASE)}`, options)
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
