/**
 * `GET /admin/deliveries/{id}`: a delivery of any customer, with the request of each attempt. The
 * headers are not stored: they follow from the delivery, the body and the secrets of that time.
 */

import type { StoredObjects } from '../../history/events/stored-objects.ts'
import { customersOf } from '../../identity/access/across-customers.ts'
import { Failure } from '../../kernel/failure.ts'
import { DecryptionError, type Vault } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type AttemptRecord, decodeAttempts, decodeAttemptUrls } from '../deliveries/delivery.ts'
import { type DeliveryRow, findAnyDelivery, readBody } from '../deliveries/log-store.ts'
import { readRegistrationStatuses } from '../deliveries/registration-store.ts'
import { plainHeaders, type SigningSecret, signatureHeaders } from '../deliveries/signature.ts'
import { decryptSigningSecret } from '../deliveries/signing-secret.ts'
import * as store from '../deliveries/summary-store.ts'
import { representationOf } from './delivery-log.ts'
import { overviewOperations } from './overview-operations.ts'

/** Attempts whose headers are computed, the newest ones. */
const SIGNED_MAX = 20
/** Bytes that their signatures read together, one for each secret: a body has up to 256 KiB. */
const SIGNED_BYTES_MAX = 4 * 1024 * 1024

interface OneDeliveryDeps {
  readonly db: Database
  readonly vault: Vault
  readonly userAgent: string
  readonly objects: StoredObjects
}

const operation = overviewOperations.readDelivery

export const anyDeliveryRoute = (deps: OneDeliveryDeps): Route =>
  implement(operation, async ({ params }) =>
    respond(operation, await readAnyDelivery(deps, params.id!)),
  )

async function readAnyDelivery(deps: OneDeliveryDeps, id: string) {
  const { db } = deps
  const row = await findAnyDelivery(db, id)
  if (!row) throw new Failure('not_found')
  const { scope, webhook_no: no } = row
  const [registrations, customers, { attempts }] = await Promise.all([
    readRegistrationStatuses(db, [no]),
    customersOf(db, [scope]),
    computeRequests(deps, row),
  ])
  return { ...representationOf(registrations.get(no), row, attempts), ...customers.get(scope)! }
}

type RequestedAttempt = AttemptRecord & {
  readonly request_url: string
  /**
   * Without signatures if the body was purged or lost a member, or a secret was deleted; null for
   * old attempts.
   */
  readonly request_headers: Readonly<Record<string, string>> | null
}

interface SentRequests {
  /** As it is sent today; undefined if its event was purged. */
  readonly body: string | undefined
  readonly attempts: readonly RequestedAttempt[]
}

/** Returns the body of a delivery, and its attempts with the URL and headers that were sent. */
export async function computeRequests(
  { db, vault, userAgent, objects }: OneDeliveryDeps,
  row: DeliveryRow,
): Promise<SentRequests> {
  const attempts = decodeAttempts(row.attempts)
  const urls = decodeAttemptUrls(row.attempts)
  const [stored, secretRows] = await Promise.all([
    readBody(db, objects, row.scope, row.id),
    store.readSecrets(db, { scope: row.scope, no: row.webhook_no }),
  ])
  const body = stored?.text
  const isAsSent = stored?.isReduced === false
  const secrets = secretRows.flatMap((secret) => decryptSecret(vault, secret))
  const bodyBytes = Buffer.byteLength(body ?? '')
  let bytesLeft = SIGNED_BYTES_MAX
  const headersOf = (attempt: AttemptRecord) => {
    const at = Date.parse(attempt.at)
    const live = secrets.filter(
      ({ createdAt, expiresAt }) => createdAt <= at && (expiresAt === null || expiresAt > at),
    )
    const delivery = {
      id: row.event_id,
      type: row.event_type,
      deliveryId: row.id,
      attempt: attempt.n,
      atS: Math.floor(at / 1000),
      userAgent,
    }
    if (body === undefined || !isAsSent || live.length === 0) return plainHeaders(delivery)
    bytesLeft -= live.length * bodyBytes
    return bytesLeft < 0 ? null : signatureHeaders({ ...delivery, secrets: live, body })
  }
  const firstSigned = attempts.length - SIGNED_MAX
  const requestedAttempts: RequestedAttempt[] = []
  for (const [index, attempt] of [...attempts.entries()].reverse()) {
    const headers = index < firstSigned ? null : headersOf(attempt)
    requestedAttempts.unshift({
      ...attempt,
      request_url: urls[index]!,
      request_headers: headers,
    })
  }
  return { body, attempts: requestedAttempts }
}

type DatedSecret = SigningSecret & {
  readonly createdAt: number
  readonly expiresAt: number | null
}

/** Returns no secret if it cannot be decrypted. */
function decryptSecret(vault: Vault, row: store.SecretRow): DatedSecret[] {
  try {
    const { value } = decryptSigningSecret(vault, row.no, row.encrypted)
    return [{ value, createdAt: row.created_at, expiresAt: row.expires_at }]
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    return []
  }
}
