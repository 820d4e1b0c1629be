/** A disk of a few MiB, which a test fills. Mounting it needs root. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kind } from './databases.ts'
import { createDatabase, queryAsAdmin, startPostgres } from './postgres.ts'

export interface SmallDisk {
  readonly folder: string
  /** Fills the disk to its last block. */
  fill(): Promise<void>
  /** Removes what `fill` has written. */
  free(): Promise<void>
  unmount(): Promise<void>
}

export const canMount = (): boolean =>
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

export async function mountSmallDisk(sizeMib: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', folder])
  await chmod(folder, 0o777) // for the user of PostgreSQL
  const ballast = join(folder, 'ballast')
  return {
    folder,
    async fill() {
      const { bavail, bsize } = await statfs(folder)
      await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch(() => undefined)
    },
    free: () => rm(ballast),
    async unmount() {
      execFileSync('umount', ['-l', folder])
      await rm(folder, { recursive: true })
    },
  }
}

/** Creates a database whose tables are on the disk; the log of a PostgreSQL server is elsewhere. */
export async function databaseOn(kind: Kind, folder: string) {
  if (kind === 'sqlite')
    return { url: `sqlite:${join(folder, 'gatehook.db')}`, stop: async () => {} }
  const server = await startPostgres()
  const location = join(folder, 'tablespace')
  await mkdir(location)
  const [settings] = await queryAsAdmin(server.url, 'SHOW data_directory')
  const { uid, gid } = await stat(settings!.data_directory)
  await chown(location, uid, gid)
  await queryAsAdmin(server.url, `CREATE TABLESPACE small LOCATION '${location}'`)
  const url = await createDatabase(server.url)
  const name = new URL(url).pathname.slice(1)
  await queryAsAdmin(server.url, `ALTER DATABASE ${name} SET TABLESPACE small`)
  return { url, stop: () => server.stop() }
}
