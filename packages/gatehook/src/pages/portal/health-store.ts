/** SQL of the health of an integration: its endpoints, and the names of its callers. */
import { WITHOUT_INSTALLATION_SCOPES } from '../../identity/access/store.ts'
import type { EndpointKey } from '../../outbound/deliveries/ports.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'

/** A customer has at most 50 registrations in a mode (§9.1). */
const ENDPOINTS_MAX = 50
/** The deliveries of an endpoint among which failed ones are counted, the newest. */
const EXAMINED_MAX = 1000

const DAY_MS = 86_400_000
const KEYS_MAX = 20

export interface EndpointRow extends Row {
  readonly no: number
  readonly id: string
  readonly url: string
  readonly events: string
  readonly active: number
  readonly disabled_reason: string | null
  readonly api_version: string
  readonly first_failure_at: number | null
  /** A position in `HEALTH_STATES`. */
  readonly health: number
}

export const listEndpoints = (from: Reader, scope: number) =>
  from.all<EndpointRow>(sql`SELECT no, id, url, events, active, disabled_reason, api_version,
    first_failure_at, health FROM gh_webhooks
    WHERE scope = ${scope} AND deleted_at IS NULL ORDER BY id LIMIT ${ENDPOINTS_MAX}`)

const failed = prepareStatement(`SELECT COUNT(*) AS total
  FROM (SELECT state FROM gh_deliveries WHERE scope = ? AND webhook_no = ?
    ORDER BY id DESC LIMIT ${EXAMINED_MAX}) AS newest
  WHERE state IN ('failed', 'exhausted')`)

/** Counts failed and exhausted deliveries among the newest of an endpoint. */
export async function countFailed(from: Reader, { scope, no }: EndpointKey): Promise<number> {
  return Number((await from.get(failed([scope, no])))!.total)
}

interface ExpiringKey extends Row {
  readonly id: string
  readonly name: string
  readonly expires_at: number
}

/**
 * Lists the keys of a customer that expire within a period, soonest first. Excluded are keys of
 * operators, and those that live for at most a day: such a key is for one task.
 */
export const listExpiringKeys = (
  from: Reader,
  scope: number,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
) =>
  from.all<ExpiringKey>(sql`SELECT id, name, expires_at FROM gh_api_keys
    WHERE scope = ${scope} AND revoked_at IS NULL AND expires_at IS NOT NULL
      AND expires_at > ${fromMs} AND expires_at <= ${toMs}
      AND expires_at - created_at > ${DAY_MS} AND ${raw(WITHOUT_INSTALLATION_SCOPES)}
    ORDER BY expires_at, id LIMIT ${KEYS_MAX}`)

/** Returns the names of keys and clients by id. */
export async function readCallerNames(
  from: Reader,
  callers: readonly { readonly key_id: string; readonly client_id: string }[],
): Promise<ReadonlyMap<string, string>> {
  const keys = [...new Set(callers.map(({ key_id }) => key_id).filter(Boolean))]
  const clients = [...new Set(callers.map(({ client_id }) => client_id).filter(Boolean))]
  const rows = await Promise.all([
    keys.length === 0
      ? []
      : from.arrays(sql`SELECT id, name FROM gh_api_keys WHERE id IN (${join(keys)})`),
    clients.length === 0
      ? []
      : from.arrays(
          sql`SELECT client_id, name FROM gh_clients WHERE client_id IN (${join(clients)})`,
        ),
  ])
  return new Map(rows.flat().map(([id, name]) => [String(id), String(name)]))
}
