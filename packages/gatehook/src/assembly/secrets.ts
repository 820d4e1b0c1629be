/** Assembles the master secret of this node: its vault, its encrypted columns and its rotation. */

import { engineTables } from '../engine-tables.ts'
import { removeChain } from '../history/audit/chain-writer.ts'
import { auditKeys } from '../history/audit/tables.ts'
import { DEVICE_PURPOSE } from '../identity/people/devices.ts'
import { removeLostTotp, takeSession } from '../identity/people/operator-store.ts'
import { CLIENT_LIFE_MS, CLIENTS_PURPOSE } from '../identity/people/recognized-clients.ts'
import { consoleSessions, operators } from '../identity/people/tables.ts'
import { THROTTLE_PURPOSE, WINDOW_MS } from '../identity/people/throttle.ts'
import { TAG_PURPOSE } from '../identity/tokens/refresh-token.ts'
import { deleteLostKey } from '../identity/tokens/signing-key-store.ts'
import { signingKeys } from '../identity/tokens/tables.ts'
import { wallClock } from '../kernel/clock.ts'
import { type Random, systemRandom } from '../kernel/random.ts'
import { Vault } from '../kernel/secret.ts'
import type { HealthCheck } from '../operate/system/health.ts'
import { replaceLostSecret } from '../outbound/deliveries/registration-store.ts'
import { encryptSigningSecret, newSigningSecret } from '../outbound/deliveries/signing-secret.ts'
import { webhookSecrets } from '../outbound/deliveries/tables.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'
import {
  ensureMasterSecrets,
  readMasterSecrets,
  secretFile,
} from '../platform/config/environment.ts'
import { deleteLostResult } from '../platform/jobs/steps-store.ts'
import { steps } from '../platform/jobs/tables.ts'
import { findAnyValue } from '../platform/secrets/encrypted-columns.ts'
import { type LostValues, type ResetResult, resetSecret } from '../platform/secrets/reset.ts'
import { deleteRetiredKey } from '../platform/secrets/retired-keys.ts'
import {
  type RotationCallbacks,
  type RotationResult,
  rotateSecrets,
} from '../platform/secrets/rotation.ts'
import {
  adoptSecret,
  checkSecrets,
  createMissingSecret,
  removeStaleFile,
} from '../platform/secrets/state.ts'
import { readSecretStatus, type SecretStatus } from '../platform/secrets/status.ts'
import { retiredKeys } from '../platform/secrets/tables.ts'
import { createVaultSync, pollSecretState } from '../platform/secrets/vault-sync.ts'
import type { Database } from '../platform/storage/database.ts'
import { type EncryptedColumn, encryptedColumns } from '../platform/storage/encrypted-column.ts'
import { purgeExpired } from '../platform/storage/purge.ts'
import { FINGERPRINT_PURPOSE, RETENTION_MS } from '../protocol/idempotency/perform.ts'
import { deleteLostResponse } from '../protocol/idempotency/store.ts'
import { idempotencyRecords } from '../protocol/idempotency/tables.ts'
import type { Component, Foundation } from './foundation.ts'

/** The columns whose values the vault encrypts; a rotation rewrites them. */
export const allEncrypted: readonly EncryptedColumn[] = engineTables.flatMap(encryptedColumns)

/** The change of a row whose value is lost, by column. */
const replaceLost: Readonly<Record<string, LostValues['replace']>> = {
  [`${signingKeys.name}.encrypted_private_jwk`]: (tx, _, [kid]) => deleteLostKey(tx, String(kid)),
  [`${signingKeys.name}.encrypted_rsa_jwk`]: (tx, _, [kid]) => deleteLostKey(tx, String(kid)),
  [`${signingKeys.name}.encrypted_assertion_jwk`]: (tx, _, [kid]) => deleteLostKey(tx, String(kid)),
  [`${webhookSecrets.name}.encrypted`]: (tx, vault, [no]) => {
    const secret = newSigningSecret(systemRandom())
    return replaceLostSecret(tx, Number(no), encryptSigningSecret(vault, Number(no), secret))
  },
  [`${idempotencyRecords.name}.answer`]: (tx, _, [scope, id]) =>
    deleteLostResponse(tx, Number(scope), id as Uint8Array),
  [`${steps.name}.result`]: (tx, _, [job, name]) => deleteLostResult(tx, String(job), String(name)),
  [`${retiredKeys.name}.encrypted`]: (tx, _, [keyId, purpose]) =>
    deleteRetiredKey(tx, String(keyId), String(purpose)),
  [`${auditKeys.name}.encrypted`]: removeChain,
  [`${operators.name}.totp`]: (tx, _, [id]) => removeLostTotp(tx, String(id)),
  [`${operators.name}.totp_pending`]: (tx, _, [id]) => removeLostTotp(tx, String(id)),
  [`${consoleSessions.name}.provider_tokens`]: (tx, _, [hash]) =>
    takeSession(tx, hash as Uint8Array),
}

const lostValues: readonly LostValues[] = allEncrypted.map((column) => ({
  column,
  replace: replaceLost[`${column.table}.${column.column}`]!,
}))

const [signingKeyColumn] = encryptedColumns(signingKeys)

/**
 * Returns the secrets of this node; undefined for a new database on SQLite, whose secret does not
 * exist yet. Throws `ConfigError` when the secret of a database in use is missing.
 */
async function secretsFor(db: Database, config: Config): Promise<readonly string[] | undefined> {
  const secrets = readMasterSecrets(config)
  if (secrets) return secrets
  const { table } = signingKeyColumn!
  const isInstalled =
    (await db.columns(table)).length > 0 &&
    (await findAnyValue(db, signingKeyColumn!)) !== undefined
  if (isInstalled) throw createMissingSecret(secretFile(config)!)
  return undefined
}

/** Throws `ConfigError` with one sentence when the node's secrets do not fit the database. */
export async function openVault(db: Database, config: Config, random: Random): Promise<Vault> {
  const secrets = (await secretsFor(db, config)) ?? ensureMasterSecrets(config, random)
  const vault = new Vault(secrets, random)
  await activateFitting(db, config, vault)
  return vault
}

/**
 * Returns the vault of an installation; undefined for a new database. Creates nothing. Throws the
 * errors of `openVault`.
 */
export async function openExistingVault(db: Database, config: Config): Promise<Vault | undefined> {
  const secrets = await secretsFor(db, config)
  if (!secrets) return undefined
  const vault = new Vault(secrets, systemRandom())
  await activateFitting(db, config, vault)
  return vault
}

/**
 * Replaces a master secret that is lost (§13). Throws `ConfigError` if the secret of this process
 * fits the database, and the errors of `resetSecret`.
 */
export async function resetMasterSecret(db: Database, config: Config): Promise<ResetResult> {
  const isLost = await openExistingVault(db, config).then(
    () => false,
    (error: unknown) => {
      if (error instanceof ConfigError) return true
      throw error
    },
  )
  if (!isLost) throw new ConfigError(['The master secret fits the database: nothing is lost.'])
  const random = systemRandom()
  const secrets = ensureMasterSecrets(config, random)
  return resetSecret({ db, random, nowMs: wallClock.now(), secrets, columns: lostValues })
}

async function activateFitting(db: Database, config: Config, vault: Vault): Promise<void> {
  const keyId = await checkSecrets(db, vault, signingKeyColumn!, { file: secretFile(config) })
  if (keyId !== undefined) vault.activate(keyId)
}

/** Stores which secret encrypts, if the database does not hold that yet. Needs migrated tables. */
export async function settleSecrets({
  db,
  config,
  vault,
  random,
}: Pick<Foundation, 'db' | 'config' | 'vault' | 'random'>): Promise<void> {
  await adoptSecret(db, vault.masterSecrets()[0]!, random)
  // When nodes with different secrets start at once, the first one to write decides.
  await activateFitting(db, config, vault)
  const file = secretFile(config)
  if (file !== undefined) await removeStaleFile(db, file)
}

export interface SecretsComponent extends Component {
  rotate(rotation: RotationCallbacks): Promise<RotationResult>
  status(): Promise<SecretStatus>
  /** Reads which secret encrypts. A started node does so when it changes. */
  follow(): Promise<void>
  readonly check: HealthCheck
}

export async function assembleSecrets({
  db,
  clock,
  random,
  vault,
  config,
}: Foundation): Promise<SecretsComponent> {
  const readSecrets = () => readMasterSecrets(config) ?? vault.masterSecrets()
  const syncVault = createVaultSync({ db, clock, vault, readSecrets })
  await syncVault()
  const retiredPurposes = [
    { purpose: TAG_PURPOSE, retentionMs: config.refreshTokenMaxS * 1000 },
    { purpose: FINGERPRINT_PURPOSE, retentionMs: RETENTION_MS },
    { purpose: THROTTLE_PURPOSE, retentionMs: WINDOW_MS },
    { purpose: CLIENTS_PURPOSE, retentionMs: CLIENT_LIFE_MS },
    { purpose: DEVICE_PURPOSE, retentionMs: CLIENT_LIFE_MS },
  ]
  return {
    follow: async () => void (await syncVault()),
    rotate: (rotation) =>
      rotateSecrets(
        {
          db,
          clock,
          random,
          vault,
          columns: allEncrypted,
          retiredPurposes,
          secretFile: secretFile(config),
          readSecrets,
        },
        rotation,
      ),
    status: () => readSecretStatus(db, allEncrypted),
    check: () =>
      vault.missingKeyId === undefined
        ? undefined
        : 'The master secret was rotated, and this node was not started with the new one.',
    chores: { retired_keys: () => purgeExpired(db, [retiredKeys], clock.now()) },
    polled: [pollSecretState(syncVault)],
  }
}
