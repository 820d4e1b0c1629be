/**
 * The secret with which `listen` signs. It is generated once and stored, so that a receiver under
 * development is configured once. No registration uses it.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createPrivateFile, makeFolder } from '../kernel/files.ts'
import type { Random } from '../kernel/random.ts'
import { newSigningSecret } from '../outbound/deliveries/signing-secret.ts'
import type { Config } from '../platform/config/config.ts'
import { dataFolder } from '../platform/config/environment.ts'
import { CommandError } from './errors.ts'

const FILE = 'listen.secret'
const FORMAT = /^whsec_[A-Za-z0-9+/]{43}=$/

/** Returns its path: in the data folder on SQLite, otherwise in `~/.gatehook`. */
export const localSecretFile = (config: Config): string =>
  join(dataFolder(config) ?? join(homedir(), '.gatehook'), FILE)

/**
 * Returns the secret of `file`. Generates it on first use, with mode 0600. Throws `CommandError` if
 * the file cannot be read or written.
 */
export function localSecret(file: string, random: Random): string {
  try {
    makeFolder(dirname(file))
    createPrivateFile(file, `${newSigningSecret(random)}\n`)
    const text = readFileSync(file, 'utf8').trim()
    if (FORMAT.test(text)) return text
  } catch (error) {
    throw new CommandError(`${file} cannot be used: ${(error as Error).message}.`)
  }
  throw new CommandError(`${file} holds no secret. Delete it; the next run generates another one.`)
}
