/**
 * The second factor of an operator (§13): enrolled with a secret and confirmed with a code; used
 * with a code of the app or a recovery code, each accepted once; removed by the command line.
 */
import type { Administration } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { sha256, type Vault } from '../kernel/secret.ts'
import type { Tx } from '../storage/database.ts'
import * as store from './operator-store.ts'
import { newRecoveryCodes, newTotpSecret, recoveryText, stepOfCode, totpUri } from './totp.ts'
import { fold, invalidCredentials } from './username.ts'

/** The length of the longest code, and some blanks. */
export const CODE_MAX = 32

export interface Enrolment {
  /** Base32, for an operator who types it. */
  readonly secret: string
  /** For an authenticator app, as a QR code. */
  readonly uri: string
}

export interface SecondFactor {
  isEnrolled(operator: string): Promise<boolean>
  /** A new secret; what was enrolled before stays valid until the new one is confirmed. */
  enrol(operator: string, actor: Actor): Promise<Enrolment>
  /**
   * The first code of the new secret makes it the operator's second factor. `also` runs in the same
   * transaction. Gives recovery codes, which replace those before. Throws 409 `invalid_state`
   * without a secret, and 401 `invalid_credentials` for a wrong code: it was the only try.
   */
  confirm(
    operator: string,
    code: string,
    actor: Actor,
    also: (tx: Tx) => Promise<void>,
  ): Promise<readonly string[]>
  /**
   * Uses up a code. Throws 403 `second_factor_required` without one where it is enrolled, 401
   * `invalid_credentials` for one that is wrong or was used. False where nothing is enrolled.
   */
  verify(operator: string, code: string | undefined, actor: Actor): Promise<boolean>
}

export interface SecondFactorDeps {
  readonly admin: Administration
  readonly vault: Vault
  /** The service's name, as the authenticator app shows it. */
  readonly service: string
}

export function createSecondFactor({ admin, vault, service }: SecondFactorDeps): SecondFactor {
  const { db, clock, random } = admin
  const opened = (id: string, sealed: Uint8Array): string =>
    vault.decrypt(store.TOTP_PURPOSE, id, sealed).toString()
  const locked = async (tx: Tx, id: string): Promise<store.OperatorRow> => {
    const row = await store.lockOperatorById(tx, id)
    if (row?.disabled !== 0) throw invalidCredentials()
    return row
  }

  const useRecoveryCode = async (tx: Tx, id: string, code: string, actor: Actor) => {
    const text = recoveryText(code)
    const isUsed = text !== undefined && (await store.takeRecoveryCode(tx, id, sha256(text)))
    if (!isUsed) throw invalidCredentials()
    await recordAudit(tx, { actor, action: 'operator.recovery_code', target: id }, admin)
  }

  return {
    isEnrolled: (operator) => store.isEnrolled(db, operator),

    enrol: (operator, actor) =>
      db.write(async (tx) => {
        const row = await locked(tx, operator)
        const secret = newTotpSecret(random)
        await store.setPendingTotp(tx, row.id, vault.encrypt(store.TOTP_PURPOSE, row.id, secret))
        const act = { actor, action: 'operator.second_factor_enrol', target: row.id }
        await recordAudit(tx, act, admin)
        return { secret, uri: totpUri(secret, service, row.email) }
      }),

    async confirm(operator, code, actor, also) {
      const codes = await db.write(async (tx) => {
        const row = await locked(tx, operator)
        if (!row.totp_pending) throw new Failure('invalid_state', 'Request a secret first.')
        const step = stepOfCode(opened(row.id, row.totp_pending), code, clock.now(), 0)
        if (step === undefined) {
          await store.setPendingTotp(tx, row.id, null)
          return undefined
        }
        const codes = newRecoveryCodes(random)
        const hashes = codes.map((text) => sha256(recoveryText(text)!))
        await store.confirmTotp(tx, row.id, row.totp_pending, step)
        await store.replaceRecoveryCodes(tx, row.id, hashes)
        const act = { actor, action: 'operator.second_factor_confirm', target: row.id }
        await recordAudit(tx, act, admin)
        await also(tx)
        return codes
      })
      if (!codes) throw invalidCredentials()
      return codes
    },

    verify: (operator, code, actor) =>
      db.write(async (tx) => {
        const row = await locked(tx, operator)
        if (!row.totp) return false
        if (code === undefined) throw new Failure('second_factor_required')
        const step = stepOfCode(opened(row.id, row.totp), code, clock.now(), row.totp_step)
        if (step === undefined) await useRecoveryCode(tx, row.id, code, actor)
        else await store.setTotpStep(tx, row.id, step)
        return true
      }),
  }
}

/** Removes the second factor of an operator who lost it, and ends the sessions. Throws 404. */
export const resetSecondFactor = (
  admin: Administration,
  email: string,
  actor: Actor,
): Promise<{ readonly id: string; readonly email: string }> =>
  admin.write(async (tx) => {
    const row = await store.lockOperator(tx, fold(email))
    if (!row) throw new Failure('not_found')
    await store.removeTotp(tx, row.id)
    await store.dropSessions(tx, row.id)
    await recordAudit(tx, { actor, action: 'operator.second_factor_reset', target: row.id }, admin)
    return { id: row.id, email: row.email }
  })
