/** Folders for files of this user. */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents with mode 0700.
 *
 * Without `recursive: true`: below `/proc`, Node retries forever, because `mkdir` of an existing
 * folder fails there with ENOENT.
 *
 * @throws The error of the file system.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
