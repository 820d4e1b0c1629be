/** A disk of a few MiB, which a test fills. Mounting it needs root. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
