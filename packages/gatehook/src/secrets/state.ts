/**
 * Which master secret encrypts this database, as `gh_settings` has it, and whether the secrets of
 * this node fit. Rotation is `rotate.ts`.
 */
import { ConfigError } from '../config/config.ts'
import { readSecretFiles, removePreviousSecret } from '../config/secret-files.ts'
import type { Random } from '../kernel/random.ts'
import { keyIdOf, Vault } from '../kernel/secret.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { readSetting, writeSetting } from '../storage/settings.ts'
import { sql } from '../storage/sql.ts'
import { firstValue } from './sealed-store.ts'

const SETTING = 'master_secret'
const CHECK = 'master secret check'
const CHECK_TEXT = 'gatehook'

export interface SecretState {
  /** The id of the master secret that encrypts. */
  readonly key_id: string
  /** A known text encrypted under it. */
  readonly check: string
  /** While a rotation is under way: the secret that it replaces. */
  readonly rotation?: { readonly previous_key_id: string; readonly started_at: number }
}

/** The state in which this secret encrypts. */
export function stateOf(
  secret: string,
  random: Random,
  rotation?: SecretState['rotation'],
): SecretState {
  const vault = new Vault(secret, random)
  const check = vault.seal(CHECK, vault.keyId, CHECK_TEXT).toString('base64url')
  return { key_id: vault.keyId, check, ...(rotation && { rotation }) }
}

/** Undefined in a new database, and in one of a release before key ids. */
export const readState = (from: Reader): Promise<SecretState | undefined> =>
  readSetting<SecretState>(from, SETTING)

/** The state, which no other transaction changes until this one ends. */
export async function lockState(tx: Tx): Promise<SecretState> {
  await tx.lock(sql`SELECT value FROM gh_settings WHERE name = ${SETTING}`)
  return (await readState(tx))!
}

export const writeState = (tx: Tx, state: SecretState): Promise<void> =>
  writeSetting(tx, SETTING, state)

/** Where the node's secrets come from, for the sentence that says which one does not fit. */
export interface SecretSource {
  /** `secret.key`; undefined where GATEHOOK_SECRET_KEY is set. */
  readonly file: string | undefined
}

/**
 * The id of the secret that encrypts this database; undefined where nothing is encrypted yet.
 * Changes nothing. Throws a `ConfigError` with one sentence when this node's secrets do not fit.
 */
export async function checkSecrets(
  db: Database,
  vault: Vault,
  sample: SealedColumn,
  source: SecretSource,
): Promise<string | undefined> {
  if ((await db.columns('gh_settings')).length === 0) return undefined
  const state = await readState(db)
  if (!state) return keyOfSample(db, vault, sample, source)
  if (!vault.keyIds.includes(state.key_id) || !opensCheck(vault, state)) {
    throw mismatch(`under key ${state.key_id}`, vault, source)
  }
  const previous = state.rotation?.previous_key_id
  if (previous !== undefined && !vault.keyIds.includes(previous)) {
    const where = source.file
      ? `restore the file ${source.file}.previous`
      : 'set GATEHOOK_SECRET_KEY_PREVIOUS'
    throw new ConfigError([
      'A rotation of the master secret has not finished, and the secret that it replaces, key ' +
        `${previous}, is missing: ${where}, then run: gatehook secrets rotate`,
    ])
  }
  return state.key_id
}

/** A database of a release before key ids tells by a value which secret fits. */
async function keyOfSample(
  db: Database,
  vault: Vault,
  sample: SealedColumn,
  source: SecretSource,
): Promise<string | undefined> {
  if ((await db.columns(sample.table)).length === 0) return undefined
  const found = await firstValue(db, sample)
  if (!found) return undefined
  const keyId = vault.keyIdOf(sample.purpose, sample.rowOf(found.key), found.value)
  if (keyId === undefined) throw mismatch('under another one', vault, source)
  return keyId
}

function opensCheck(vault: Vault, { key_id, check }: SecretState): boolean {
  return vault.keyIdOf(CHECK, key_id, Buffer.from(check, 'base64url')) === key_id
}

function mismatch(under: string, vault: Vault, { file }: SecretSource): ConfigError {
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

/** The same, for an installation whose secret is gone. */
export const missingSecret = (file: string): ConfigError =>
  new ConfigError([
    `The master secret does not fit the database: ${file} is missing, and a new one could not ` +
      'decrypt what is stored; restore the file that was beside this database.',
  ])

/** Stores the state of a database that has none: `secret` encrypts it from now on. */
export async function adoptSecret(db: Database, secret: string, random: Random): Promise<void> {
  if (await readState(db)) return
  const state = JSON.stringify(stateOf(secret, random))
  await db.write((tx) =>
    tx.run(sql`INSERT INTO gh_settings (name, value) VALUES (${SETTING}, ${state})
      ON CONFLICT (name) DO NOTHING`),
  )
}

/** Removes the previous secret where a crash came between the end of a rotation and its removal. */
export async function removeStaleFile(db: Database, file: string): Promise<void> {
  if ((readSecretFiles(file) ?? []).length < 2) return
  await db.write(async (tx) => {
    const state = await lockState(tx)
    const [newest, previous] = readSecretFiles(file) ?? []
    if (state.rotation || !newest || !previous || keyIdOf(newest) !== state.key_id) return
    removePreviousSecret(file)
  })
}
