/**
 * The state of the master secret in the settings: the id of the secret that encrypts, and the
 * rotation in progress. Checks the secrets of this node against it. See also `rotation.ts`.
 */

import type { Random } from '../../kernel/random.ts'
import { keyIdOf, Vault } from '../../kernel/secret.ts'
import { ConfigError } from '../config/config.ts'
import { readSecretFiles, removePreviousSecret } from '../config/secret-files.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import {
  claimSetting,
  isInstalled,
  lockSetting,
  readSetting,
  selectSetting,
  writeSetting,
} from '../storage/settings.ts'
import { findAnyValue } from './encrypted-columns.ts'

const SETTING = 'master_secret'
const CHECK = 'master secret check'
const CHECK_TEXT = 'gatehook'

export interface SecretState {
  /** The id of the active master secret. */
  readonly key_id: string
  /** A constant text that it encrypted, in base64url. */
  readonly check: string
  /** Present while a rotation is in progress; `started_at` is in epoch milliseconds. */
  readonly rotation?: { readonly previous_key_id: string; readonly started_at: number }
}

/** Creates the state in which `secret` is the active master secret. */
export function createState(
  secret: string,
  random: Random,
  rotation?: SecretState['rotation'],
): SecretState {
  const vault = new Vault(secret, random)
  const check = vault.encrypt(CHECK, vault.keyId, CHECK_TEXT).toString('base64url')
  return { key_id: vault.keyId, check, ...(rotation && { rotation }) }
}

/** Returns undefined for a new database, and for one of a release without key ids. */
export const readState = (from: Reader): Promise<SecretState | undefined> =>
  readSetting<SecretState>(from, SETTING)

/** SQL of the state as JSON text. */
export const selectState = selectSetting(SETTING)

/** Returns the state and locks it until the transaction ends. */
export const lockState = async (tx: Tx): Promise<SecretState> =>
  (await lockSetting<SecretState>(tx, SETTING))!

export const writeState = (tx: Tx, state: SecretState): Promise<void> =>
  writeSetting(tx, SETTING, state)

/** The origin of the node's secrets, for error messages. */
interface SecretSource {
  /** The path of `secret.key`; undefined if GATEHOOK_SECRET_KEY is set. */
  readonly file: string | undefined
}

/**
 * Returns the id of the secret that encrypts this database; undefined if nothing is encrypted yet.
 * Writes nothing. Throws `ConfigError` if this node lacks the secret.
 *
 * @param sample a column whose values identify the secret in a database without key ids
 */
export async function checkSecrets(
  db: Database,
  vault: Vault,
  sample: EncryptedColumn,
  source: SecretSource,
): Promise<string | undefined> {
  if (!(await isInstalled(db))) return undefined
  const state = await readState(db)
  if (!state) return identifyBySample(db, vault, sample, source)
  if (!vault.keyIds.includes(state.key_id) || !decryptsCheck(vault, state)) {
    throw createMismatch(`under key ${state.key_id}`, vault, source)
  }
  const previous = state.rotation?.previous_key_id
  if (previous !== undefined && !vault.keyIds.includes(previous)) {
    const remedy = source.file
      ? `restore the file ${source.file}.previous`
      : 'set GATEHOOK_SECRET_KEY_PREVIOUS'
    throw new ConfigError([
      'A rotation of the master secret has not finished, and the secret that it replaces, key ' +
        `${previous}, is missing: ${remedy}, then run: gatehook secrets rotate`,
    ])
  }
  return state.key_id
}

/** Returns the id of the secret that decrypts a value of the column `sample`. */
async function identifyBySample(
  db: Database,
  vault: Vault,
  sample: EncryptedColumn,
  source: SecretSource,
): Promise<string | undefined> {
  if ((await db.columns(sample.table)).length === 0) return undefined
  const row = await findAnyValue(db, sample)
  if (!row) return undefined
  const keyId = vault.findKeyId(sample.purpose, sample.rowOf(row.key), row.value)
  if (keyId === undefined) throw createMismatch('under another one', vault, source)
  return keyId
}

function decryptsCheck(vault: Vault, { key_id, check }: SecretState): boolean {
  return vault.findKeyId(CHECK, key_id, Buffer.from(check, 'base64url')) === key_id
}

function createMismatch(under: string, vault: Vault, { file }: SecretSource): ConfigError {
  const [own, remedy] = file
    ? [`${file} is key`, 'restore the file that was beside this database']
    : [
        'GATEHOOK_SECRET_KEY is key',
        'set it to the secret of this database, or, to rotate it, set that one in ' +
          'GATEHOOK_SECRET_KEY_PREVIOUS',
      ]
  return new ConfigError([
    `The master secret does not fit the database, which is encrypted ${under} (${own} ` +
      `${vault.keyIds[0]}): ${remedy}.`,
  ])
}

/** Creates the error for an installation whose secret file was deleted. */
export const createMissingSecret = (file: string): ConfigError =>
  new ConfigError([
    `The master secret does not fit the database: ${file} is missing, and a new one could not ` +
      'decrypt what is stored; restore the file that was beside this database.',
  ])

/** Stores `secret` as the active master secret if the database has no state yet. */
export async function adoptSecret(db: Database, secret: string, random: Random): Promise<void> {
  if (await readState(db)) return
  const state = createState(secret, random)
  await db.write((tx) => claimSetting(tx, SETTING, state))
}

/** Removes the previous secret's file if a crash prevented that at the end of a rotation. */
export async function removeStaleFile(db: Database, file: string): Promise<void> {
  if ((readSecretFiles(file) ?? []).length < 2) return
  await db.write(async (tx) => {
    const state = await lockState(tx)
    const [newest, previous] = readSecretFiles(file) ?? []
    if (state.rotation || !newest || !previous || keyIdOf(newest) !== state.key_id) return
    removePreviousSecret(file)
  })
}
