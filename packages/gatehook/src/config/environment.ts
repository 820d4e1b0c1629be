/**
 * The door to the process: its environment, and where the master secret comes from. The only place
 * that reads `process.env`; what the texts mean is `config.ts`.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeFolder } from '../kernel/folder.ts'
import type { Random } from '../kernel/random.ts'
import { type Config, ConfigError, databaseAddress, type Flags, loadConfig } from './config.ts'
import { reasonOf, reasons } from './file-errors.ts'
import { createSecretFile, readSecretFiles } from './secret-files.ts'

/** Reads the whole configuration once. Throws a `ConfigError`. */
export const readConfig = (flags: Flags = {}): Config => loadConfig(process.env, flags, unreadable)

/** The key with which commands call a running node; no setting of the service itself. */
export const environmentKey = (): string | undefined => process.env.GATEHOOK_API_KEY || undefined

function unreadable(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK)
    return statSync(file).isDirectory() ? reasons.EISDIR : undefined
  } catch (error) {
    return reasonOf(error)
  }
}

/** Where the database and the secret live; undefined on PostgreSQL. */
export function dataFolder(config: Config): string | undefined {
  const address = databaseAddress(config.databaseUrl)
  return address.kind === 'sqlite' ? dirname(resolve(address.file)) : undefined
}

const SECRET_FILE = 'secret.key'

/** The file that holds the master secret where GATEHOOK_SECRET_KEY is not set; SQLite only. */
export function secretFile(config: Config): string | undefined {
  const folder = dataFolder(config)
  return folder && config.secretKey === null ? join(folder, SECRET_FILE) : undefined
}

/**
 * The master secrets, the newest first: GATEHOOK_SECRET_KEY with GATEHOOK_SECRET_KEY_PREVIOUS, or
 * on SQLite those in the data folder. Undefined where there are none yet. Throws a `ConfigError`.
 */
export function masterSecrets(config: Config): readonly string[] | undefined {
  const file = secretFile(config)
  if (file !== undefined) return readSecretFiles(file)
  const { secretKey, secretKeyPrevious } = config
  return secretKeyPrevious === null ? [secretKey!] : [secretKey!, secretKeyPrevious]
}

/** The master secrets of a new installation; on SQLite created where there are none. */
export const firstSecrets = (config: Config, random: Random): readonly string[] =>
  masterSecrets(config) ?? createSecretFile(secretFile(config)!, random)

/** Creates the folder of a SQLite database. Throws a `ConfigError`. */
export function makeDataFolder(config: Config): void {
  const folder = dataFolder(config)
  if (folder === undefined) return
  try {
    makeFolder(folder)
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? 'no folders can be made there' : reasonOf(error)
    throw new ConfigError([
      `The data folder ${folder} cannot be made: ${why}. GATEHOOK_DATABASE_URL says where it is.`,
    ])
  }
  if (statSync(folder).isDirectory()) return
  throw new ConfigError([
    `The data folder ${folder} cannot be used: it is not a folder. GATEHOOK_DATABASE_URL says ` +
      'where it is.',
  ])
}
