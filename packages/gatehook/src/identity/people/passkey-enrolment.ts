/**
 * The enrolment of a passkey (§16.12), the same for persons and operators: options for a session
 * that began recently, then the created passkey. A mail and the audit trail report it.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Call, json } from '../../protocol/http/call.ts'
import type { Administration } from '../access/administration.ts'
import type * as ceremony from './passkey-ceremony.ts'

/** Passkeys of an account. */
const MAX_PASSKEYS = 20

export interface CreatedPasskey extends ceremony.StoredPasskey {
  readonly id: string
  readonly created_at: number
}

/** An account whose session began recently. */
export interface EnrollingAccount {
  readonly user: ceremony.PasskeyUser
  /** The scope of its mail; undefined for operators. */
  readonly scope: Scope | undefined
  readonly list: (from: Reader) => Promise<readonly ceremony.StoredPasskey[]>
  /** Returns 0 if the credential is stored already. */
  readonly insert: (tx: Tx, passkey: CreatedPasskey) => Promise<number>
  /** Locks the account; returns its mail address if it has one. Throws if it has changed since. */
  readonly hold: (tx: Tx) => Promise<string | undefined>
}

interface EnrolmentDeps {
  readonly admin: Administration
  readonly ceremonies: ceremony.PasskeyCeremonies
  readonly outbox: MailOutbox
  /** Returns the account of a request. Throws 403 unless its session began recently. */
  readonly findAccount: (call: Call) => Promise<EnrollingAccount>
  readonly mail: 'passkey_added' | 'operator_passkey_added'
  readonly action: 'passkey.create' | 'operator.passkey_create'
}

/** Returns the JSON form of a passkey. */
export const passkeyJson = (
  { id, created_at }: Pick<CreatedPasskey, 'id' | 'created_at'>,
  usedAt: number | null = null,
) => ({
  id,
  created_at: isoTime(created_at),
  last_used_at: usedAt === null ? null : isoTime(usedAt),
})

export function createPasskeyEnrolment(deps: EnrolmentDeps) {
  const { admin, ceremonies, outbox, findAccount, mail, action } = deps
  return {
    async begin(call: Call) {
      const { user, list } = await findAccount(call)
      const options = await ceremonies.beginCreation(user, await list(admin.db))
      return json(200, options, { 'cache-control': 'no-store' })
    },

    async finish(call: Call, input: ceremony.AttestedCredential) {
      const { user, scope, hold, list, insert } = await findAccount(call)
      const created = await ceremonies.verifyCreation(user, input)
      const now = admin.clock.now()
      const id = createTimeOrderedId('psk_', now, admin.random)
      const passkey = { ...created, id, created_at: now }
      await writeFor(
        call,
        admin.db,
      )(async (tx) => {
        const email = await hold(tx)
        if ((await list(tx)).length >= MAX_PASSKEYS || (await insert(tx, passkey)) === 0) {
          throw new Failure('conflict', `The passkey exists, or ${MAX_PASSKEYS} others do.`)
        }
        if (email !== undefined) await outbox.enqueue(tx, mail, { scope, payload: { email } })
        await recordAudit(tx, { actor: actorOf(call), action, target: id }, admin)
      })
      return json(201, passkeyJson(passkey))
    },
  }
}
