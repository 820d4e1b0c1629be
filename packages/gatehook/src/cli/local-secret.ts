/**
 * The secret with which `listen` signs: made once and kept, so that a receiver under development is
 * told it once. It is worth nothing but on this machine, and is not the secret of any registration.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { dataFolder } from '../config/environment.ts'
import { makeFolder } from '../kernel/folder.ts'
import type { Random } from '../kernel/random.ts'
import { CommandError } from './mistake.ts'

const FILE = 'listen.secret'
const SECRET_BYTES = 32
const FORM = /^whsec_[A-Za-z0-9+/]{43}=$/

/** In the data folder on SQLite, else in `~/.gatehook`; mode 0600. */
export const localSecretFile = (config: Config): string =>
  join(dataFolder(config) ?? join(homedir(), '.gatehook'), FILE)

/** The secret of `file`, made there on first use. Throws a `CommandError` where it cannot be. */
export function localSecret(file: string, random: Random): string {
  try {
    makeFolder(dirname(file))
    make(file, random)
    const text = readFileSync(file, 'utf8').trim()
    if (FORM.test(text)) return text
  } catch (error) {
    throw new CommandError(`${file} cannot be used: ${(error as Error).message}.`)
  }
  throw new CommandError(`${file} holds no secret. Delete it, and a new one is made.`)
}

function make(file: string, random: Random): void {
  let fd: number
  try {
    fd = openSync(file, 'wx', 0o600) // only one of several that start at once makes it
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  writeSync(fd, `whsec_${random.bytes(SECRET_BYTES).toString('base64')}\n`)
  closeSync(fd)
}
