/**
 * The door to the process: its environment and the file of the master secret. The only place that
 * reads `process.env`; what the texts mean is `config.ts`.
 */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeFolder } from '../kernel/folder.ts'
import type { Random } from '../kernel/random.ts'
import { type Config, ConfigError, databaseAddress, type Flags, loadConfig } from './config.ts'
import { options } from './options.ts'

/** Reads the whole configuration once. Throws a `ConfigError`. */
export const readConfig = (flags: Flags = {}): Config => loadConfig(process.env, flags, unreadable)

/** The key with which commands call a running node; no setting of the service itself. */
export const environmentKey = (): string | undefined => process.env.GATEHOOK_API_KEY || undefined

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
}

/** An error of the file system in a few words. */
export const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return reasons[code] ?? (error as Error).message
}

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
const SECRET_BYTES = 32

/** The file that holds the master secret where GATEHOOK_SECRET_KEY is not set; SQLite only. */
export function secretFile(config: Config): string | undefined {
  const folder = dataFolder(config)
  return folder && config.secretKey === null ? join(folder, SECRET_FILE) : undefined
}

/**
 * GATEHOOK_SECRET_KEY, or on SQLite the secret in the data folder, made there on first use. Throws
 * a `ConfigError` when the file cannot be read or does not hold a secret.
 */
export function masterSecret(config: Config, random: Random): string {
  const file = secretFile(config)
  if (file === undefined) return config.secretKey!
  makeDataFolder(dirname(file))
  let text: string
  try {
    text = (readIfThere(file) ?? makeSecret(file, random)).trim()
  } catch (error) {
    throw new ConfigError([`The master secret ${file} cannot be used: ${reasonOf(error)}.`])
  }
  const secret = options.secretKey.kind.parse(text)
  if (secret === undefined) {
    const expects = options.secretKey.kind.expects
    throw new ConfigError([`${file} holds ${text.length} characters; expected ${expects}.`])
  }
  return secret
}

function makeDataFolder(folder: string): void {
  try {
    makeFolder(folder)
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const why = missing ? 'no folders can be made there' : reasonOf(error)
    throw new ConfigError([
      `The data folder ${folder} cannot be made: ${why}. GATEHOOK_DATABASE_URL says where it is.`,
    ])
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Written aside, made durable, then linked into place: a link appears whole or not at all, and only
 * one of several processes starting at once can make it. All of them read the one that won.
 */
function makeSecret(file: string, random: Random): string {
  const draft = `${file}.${random.bytes(8).toString('hex')}`
  const fd = openSync(draft, 'wx', 0o600)
  try {
    writeSync(fd, `${random.bytes(SECRET_BYTES).toString('base64url')}\n`)
    fsyncSync(fd)
    linkSync(draft, file)
    syncFolder(dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    closeSync(fd)
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8')
}

/**
 * The new name itself must survive a power cut, or rows sealed with the secret would outlive it.
 */
function syncFolder(folder: string): void {
  let fd: number
  try {
    fd = openSync(folder, 'r')
  } catch {
    return // Windows opens no folders, and makes names durable by itself.
  }
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
