/** Peers: how they are started and filled. They run only if they are installed. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender } from '../contender.ts'
import { BENCH_KEY } from '../data.ts'
import { startOnce } from '../gatehook-process.ts'
import type { Command } from '../server.ts'
import { fillDirectus, fillPeer, fillStrapi } from './fill.ts'

const file = (path: string) => new URL(path, import.meta.url).pathname

const PRODUCTION = { NODE_ENV: 'production', STRAPI_TELEMETRY_DISABLED: '1' }

/** Returns a peer. `dependency` is the npm package of its server. */
function peer(
  name: string,
  dependency: string,
  program: string,
  prepare: (file: string, command: Command, folder: string) => Promise<void>,
): Contender {
  const database = (folder: string) => join(folder, 'peer.db')
  const command = (folder: string) => ({
    args: [file(program), '--db', database(folder)],
    env: PRODUCTION,
  })
  return {
    key: name,
    folder: name,
    absent: () =>
      existsSync(file(`node_modules/${dependency}`))
        ? undefined
        : 'not installed; run npm run bench:peers',
    prepare: (folder) => prepare(database(folder), command(folder), folder),
    command,
  }
}

export const nest = (users: number) =>
  peer(`nest-${users}`, '@nestjs/core', 'nest.js', async (file) => fillPeer(file, users))

export const platformatic = (users: number) =>
  peer(`platformatic-${users}`, '@platformatic/db', 'platformatic.js', async (file) =>
    fillPeer(file, users),
  )

export const strapi = (users: number) =>
  peer(`strapi-${users}`, '@strapi/strapi', 'strapi/start.js', async (file, command, folder) => {
    await startOnce({ ...command, args: [...command.args, '--key', BENCH_KEY] }, folder)
    fillStrapi(file, users)
  })

export const directus = (users: number) =>
  peer(`directus-${users}`, 'directus', 'directus.js', async (file, { args }) => {
    execFileSync(process.execPath, [...args, '--bootstrap'], { stdio: 'ignore' })
    fillDirectus(file, users)
  })
