/** How peers are started and what their databases hold. They run only where they are installed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender } from '../contenders.ts'
import { fillPeer } from './fill.ts'

const file = (path: string) => new URL(path, import.meta.url).pathname

const absent = (name: string) => () =>
  existsSync(file(`node_modules/${name}/package.json`))
    ? undefined
    : 'not installed, npm run bench:peers does that'

/** NestJS with TypeORM; `form` is how TypeORM is asked. */
export const nest = (users: number, form: 'find' | 'many' | 'raw'): Contender => ({
  ...onFile('nest.js', users, ['--form', form]),
  key: `nest-${users}-${form}`,
  absent: absent('@nestjs/core'),
})

export const platformatic = (users: number): Contender => ({
  ...onFile('platformatic.js', users, []),
  key: `platformatic-${users}`,
  absent: absent('@platformatic/db'),
})

function onFile(program: string, users: number, args: readonly string[]) {
  return {
    folder: `peer-${users}`,
    prepare: async (folder: string) => fillPeer(join(folder, 'peer.db'), users),
    command: (folder: string) => ({
      args: [file(program), '--db', join(folder, 'peer.db'), ...args],
      env: { NODE_ENV: 'production' },
    }),
  }
}
