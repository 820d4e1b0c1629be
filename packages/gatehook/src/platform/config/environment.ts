/**
 * Reads the configuration from the process environment, and the master secrets from the environment
 * or the data folder. The only file that reads `process.env`; `config.ts` parses the texts.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import { createPrivateFile, describeFileError, fileErrors, makeFolder } from '../../kernel/files.ts'
import type { Random } from '../../kernel/random.ts'
import {
  type Config,
  ConfigError,
  databaseAddress,
  databaseTarget,
  type Environment,
  type Flags,
  loadConfig,
  type Settings,
  settingsWithMistakes,
} from './config.ts'
import { createSecretFile, readSecretFiles } from './secret-files.ts'

/**
 * Reads the configuration of the service in `folder`. Throws a `ConfigError` if it is invalid.
 */
export function readConfig(
  flags: Flags = {},
  folder = '.',
  env: Environment = process.env,
): Config {
  const config = loadConfig(env, flags, findFileProblem)
  return { ...config, folder, databaseUrl: databaseIn(folder, config.databaseUrl) }
}

/** Returns the settings with which a start that failed reports to the other nodes. */
export const readSettings = (flags: Flags, env: Environment = process.env): Settings =>
  settingsWithMistakes(env, flags)

/** Returns the URL of a database whose relative path is relative to the folder of the service. */
export function databaseIn(folder: string, url: string): string {
  const address = databaseAddress(url)
  const isHere = resolve(folder) === process.cwd()
  if (isHere || address.kind === 'postgres' || isAbsolute(address.file)) return url
  return `sqlite:${resolve(folder, address.file)}`
}

/** Returns the API key that commands send to a running node; the service ignores it. */
export const environmentKey = (): string | undefined => process.env.GATEHOOK_API_KEY || undefined

/** Returns the URL of the database to which `gatehook move` moves. */
export const environmentMoveTarget = (): string | undefined =>
  process.env.GATEHOOK_MOVE_TO || undefined

/** Returns whether npm runs this command, not a program that started it. npx quotes the name. */
export const isCommandOfNpm = (env: Environment = process.env): boolean =>
  /(?<![^\s/'"])gatehook(?:\.cjs)?(?![^\s'"])/.test(env.npm_lifecycle_script ?? '')

function findFileProblem(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK)
    return statSync(file).isDirectory() ? fileErrors.EISDIR : undefined
  } catch (error) {
    return describeFileError(error)
  }
}

/** Returns the name of this node (§18.10). */
export const nodeNameOf = ({ nodeName }: Pick<Config, 'nodeName'>): string => nodeName ?? hostname()

/** Returns what no two nodes have at a time: a configured name, the host with address and port. */
export const nodeIdentitiesOf = ({
  nodeName,
  host,
  port,
}: Pick<Config, 'nodeName' | 'host' | 'port'>): readonly string[] => [
  ...(nodeName === null ? [] : [nodeName]),
  // The system chooses another port 0 for each start.
  ...(port === 0 ? [] : [`${hostname()} ${host}:${port}`]),
]

/** Returns how this node reaches its database, where its sessions have its name. */
export const nodeTarget = (config: Config): DatabaseTarget => ({
  ...databaseTarget(config),
  node: nodeNameOf(config),
})

/** Returns the absolute path of the SQLite database; undefined on PostgreSQL. */
export function databaseFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const address = databaseAddress(config.databaseUrl)
  return address.kind === 'sqlite' ? resolve(address.file) : undefined
}

/** Returns the folder of the SQLite database and its secret; undefined on PostgreSQL. */
export function dataFolder(config: Config): string | undefined {
  const file = databaseFile(config)
  return file && dirname(file)
}

/** Returns the folder of mail files, for a service that declares no transport. */
export const mailFolder = (config: Config): string =>
  join(dataFolder(config) ?? join(config.folder, 'data'), 'mail')

const SECRET_FILE = 'secret.key'

/** Returns the file of the request log and of series; undefined on PostgreSQL. */
export function monitoringFile(config: Config): string | undefined {
  const file = databaseFile(config)
  return file && `${file}.monitoring.db`
}

/** Returns the file of the master secret on SQLite, if GATEHOOK_SECRET_KEY is not set. */
export function secretFile(config: Config): string | undefined {
  const folder = dataFolder(config)
  return folder && config.secretKey === null ? join(folder, SECRET_FILE) : undefined
}

/**
 * Reads the master secrets, the newest first: GATEHOOK_SECRET_KEY and GATEHOOK_SECRET_KEY_PREVIOUS,
 * or on SQLite the files of the data folder. Returns undefined if there are none yet.
 *
 * @throws {ConfigError} A file cannot be read or contains no secret.
 */
export function readMasterSecrets(config: Config): readonly string[] | undefined {
  const file = secretFile(config)
  if (file !== undefined) return readSecretFiles(file)
  const { secretKey, secretKeyPrevious } = config
  return secretKeyPrevious === null ? [secretKey!] : [secretKey!, secretKeyPrevious]
}

/** Reads the master secrets; on SQLite, creates one if there are none. */
export const ensureMasterSecrets = (config: Config, random: Random): readonly string[] =>
  readMasterSecrets(config) ?? createSecretFile(secretFile(config)!, random)

/** Returns whether there is a database. An empty file is none; on PostgreSQL the server decides. */
export function databaseExists(config: Pick<Config, 'databaseUrl'>): boolean {
  const file = databaseFile(config)
  return file === undefined || (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/**
 * Throws a `ConfigError` if parts of an installation exist without its SQLite database: a start
 * would create an empty one, and SQLite would delete the log beside it (§18.4).
 */
export function refuseRemains(config: Config): void {
  const file = databaseFile(config)
  if (file === undefined || databaseExists(config)) return
  const remains = [`${file}-wal`, monitoringFile(config)!]
  // A first start that ended between the two files leaves an empty one beside its secret.
  if (!existsSync(file)) remains.unshift(join(dirname(file), SECRET_FILE))
  const remainder = remains.find((path) => existsSync(path))
  if (remainder === undefined) return
  throw new ConfigError([
    `There is no database at ${file}, but ${remainder} belongs to an installation. Mount or ` +
      'restore its database (gatehook restore), or name its file in GATEHOOK_DATABASE_URL. A new ' +
      'installation needs a folder of its own.',
  ])
}

/**
 * Creates the folder of a SQLite database and the empty file, before the secret beside it: a start
 * that ends there can be repeated. Throws a `ConfigError` if that is impossible, and if the folder
 * has parts of an installation without its database.
 */
export function makeDataFolder(config: Config): void {
  const folder = dataFolder(config)
  if (folder === undefined) return
  refuseRemains(config)
  try {
    makeFolder(folder)
  } catch (error) {
    const isImpossible = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const reason = isImpossible ? 'folders cannot be created there' : describeFileError(error)
    throw new ConfigError([
      `The data folder ${folder} cannot be created: ${reason}. GATEHOOK_DATABASE_URL ` +
        'sets its path.',
    ])
  }
  if (!statSync(folder).isDirectory()) {
    throw new ConfigError([
      `The data folder ${folder} cannot be used: it is not a folder. GATEHOOK_DATABASE_URL ` +
        'sets its path.',
    ])
  }
  try {
    createPrivateFile(databaseFile(config)!, '')
  } catch {
    // The database reports a file or folder that cannot be written when it opens.
  }
}
