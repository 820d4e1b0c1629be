/**
 * The second factor of an operator (§13). It is enrolled with a secret and confirmed with a code.
 * Codes of the authenticator app and recovery codes are accepted once. The command line removes it.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { sha256, type Vault } from '../../kernel/secret.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Administration } from '../access/administration.ts'
import { endOperatorAccess, lockActiveOperator } from './operator-access.ts'
import * as store from './operator-store.ts'
import { TOTP_PURPOSE } from './tables.ts'
import {
  findCodeStep,
  generateRecoveryCodes,
  generateTotpSecret,
  normalizeRecoveryCode,
  totpUri,
} from './totp.ts'
import { invalidCredentials } from './username.ts'

interface Enrolment {
  /** Base32, for an operator who types it. */
  readonly secret: string
  /** For the QR code that an authenticator app scans. */
  readonly uri: string
}

export interface SecondFactor {
  isEnrolled(operator: string): Promise<boolean>
  /** Generates a new secret; the previous one stays valid until the new one is confirmed. */
  enrol(operator: string, actor: Actor): Promise<Enrolment>
  /**
   * Makes a new secret the operator's second factor, with its first code, and returns new recovery
   * codes. `work` runs in the same transaction. Throws 409 `invalid_state` without a new secret,
   * and 401 `invalid_credentials` for a wrong code, after which the secret is discarded.
   */
  confirm(
    operator: string,
    code: string,
    actor: Actor,
    work: (tx: Tx) => Promise<void>,
  ): Promise<readonly string[]>
  /**
   * Verifies a code and marks it as used; returns false if no second factor is enrolled. Throws
   * 403 `second_factor_required` without a code, 401 `invalid_credentials` for a wrong or used one.
   */
  verify(operator: string, code: string | undefined, actor: Actor): Promise<boolean>
}

interface SecondFactorDeps {
  readonly admin: Administration
  readonly vault: Vault
  /** The service's name, which the authenticator app displays. */
  readonly service: string
}

export function createSecondFactor({ admin, vault, service }: SecondFactorDeps): SecondFactor {
  const { db, clock, random } = admin
  const decryptSecret = (id: string, encryptedSecret: Uint8Array): string =>
    vault.decrypt(TOTP_PURPOSE, id, encryptedSecret).toString()
  const lockOperator = (tx: Tx, id: string) => lockActiveOperator(tx, id, invalidCredentials)

  const useRecoveryCode = async (tx: Tx, id: string, code: string, actor: Actor) => {
    const text = normalizeRecoveryCode(code)
    const isUsed = text !== undefined && (await store.takeRecoveryCode(tx, id, sha256(text)))
    if (!isUsed) throw invalidCredentials()
    await recordAudit(tx, { actor, action: 'operator.recovery_code', target: id }, admin)
  }

  return {
    isEnrolled: (operator) => store.isEnrolled(db, operator),

    enrol: (operator, actor) =>
      db.write(async (tx) => {
        const row = await lockOperator(tx, operator)
        const secret = generateTotpSecret(random)
        await store.setPendingTotp(tx, row.id, vault.encrypt(TOTP_PURPOSE, row.id, secret))
        const entry = { actor, action: 'operator.second_factor_enrol', target: row.id }
        await recordAudit(tx, entry, admin)
        return { secret, uri: totpUri(secret, service, row.email) }
      }),

    async confirm(operator, code, actor, work) {
      const codes = await db.write(async (tx) => {
        const row = await lockOperator(tx, operator)
        if (!row.totp_pending) throw new Failure('invalid_state', 'Request a secret first.')
        const step = findCodeStep(decryptSecret(row.id, row.totp_pending), code, clock.now(), 0)
        if (step === undefined) {
          await store.setPendingTotp(tx, row.id, null)
          return undefined
        }
        const codes = generateRecoveryCodes(random)
        const hashes = codes.map((text) => sha256(normalizeRecoveryCode(text)!))
        await store.confirmTotp(tx, row.id, row.totp_pending, step)
        await store.replaceRecoveryCodes(tx, row.id, hashes)
        const entry = { actor, action: 'operator.second_factor_confirm', target: row.id }
        await recordAudit(tx, entry, admin)
        await work(tx)
        return codes
      })
      if (!codes) throw invalidCredentials()
      return codes
    },

    verify: (operator, code, actor) =>
      db.write(async (tx) => {
        const row = await lockOperator(tx, operator)
        if (!row.totp) return false
        if (code === undefined) throw new Failure('second_factor_required')
        const step = findCodeStep(decryptSecret(row.id, row.totp), code, clock.now(), row.totp_step)
        if (step === undefined) await useRecoveryCode(tx, row.id, code, actor)
        else await store.setTotpStep(tx, row.id, step)
        return true
      }),
  }
}

/** Removes a lost second factor of an operator, and ends sessions and links. Throws 404. */
export const resetSecondFactor = (
  admin: Administration,
  name: string,
  actor: Actor,
): Promise<{ readonly id: string; readonly email: string }> =>
  admin.write(async (tx) => {
    const row = await store.lockNamedOperator(tx, name)
    if (!row) throw new Failure('not_found')
    await store.removeTotp(tx, row.id)
    await store.deletePasskeysOf(tx, row.id)
    await endOperatorAccess(admin, tx, row.id)
    await recordAudit(tx, { actor, action: 'operator.second_factor_reset', target: row.id }, admin)
    return { id: row.id, email: row.email }
  })
