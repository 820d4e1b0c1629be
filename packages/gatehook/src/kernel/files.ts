/** Folders and files of this user, and messages for errors of the file system. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents, which only this user can read unless `mode` differs.
 *
 * Without `recursive: true`: below `/proc`, Node retries forever, because `mkdir` of an existing
 * folder fails there with ENOENT.
 *
 * @throws The error of the file system.
 */
export function makeFolder(path: string, mode = 0o700): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Creates a durable file with mode 0600. Returns false if another process has created it. */
export function createPrivateFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Makes the names of new files in a folder durable. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return // Windows cannot sync a folder
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export const fileErrors: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
}

/** Describes an error of the file system in a few words. */
export const describeFileError = (error: unknown): string =>
  fileErrors[(error as NodeJS.ErrnoException).code ?? ''] ?? (error as Error).message
