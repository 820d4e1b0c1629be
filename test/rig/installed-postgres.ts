/** A PostgreSQL server of the machine, whose `pg_dump` and `pg_restore` fit it. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { folderOfDatabases } from './memory.ts'
import { freePort, queryAsAdmin } from './postgres.ts'

/** The folder of its programs, of the newest version. */
export const installedPostgres = globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => ['initdb', 'pg_dump'].every((name) => existsSync(join(folder, name))))
  .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1)

/** PostgreSQL refuses to run as root. */
function findOwner(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (option: string) => Number(execFileSync('id', [option, 'postgres']))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Starts it without durability on a free port. */
export async function startInstalledPostgres() {
  const owner = findOwner()
  const folder = await mkdtemp(join(folderOfDatabases(), 'gatehook-postgres-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const options = { cwd: folder, ...owner }
  const initialize = ['-D', folder, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  execFileSync(join(installedPostgres!, 'initdb'), initialize, { ...options, stdio: 'ignore' })
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const args = ['-D', folder, '-p', String(port), ...settings.flatMap((each) => ['-c', each])]
  const program = join(installedPostgres!, 'postgres')
  const child = spawn(program, args, { ...options, stdio: 'ignore' })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const isReady = () =>
    queryAsAdmin(url, 'SELECT 1').then(
      () => true,
      () => false,
    )
  await eventually(isReady, (ready) => ready || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`)
  return {
    url,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit')
        child.kill('SIGINT')
        await exit
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}
