/** SQL of consents: what a person once let a client do (§5.2). */
import type { Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

export interface Consent {
  readonly scope: Scope
  /** The person's row id. */
  readonly owner: number
  readonly clientId: string
}

/** The scopes consented to; undefined where there was never a consent. */
export async function findConsent(from: Reader, of: Consent): Promise<string[] | undefined> {
  const row = await from.get(sql`SELECT scopes FROM gh_consents
    WHERE scope = ${of.scope} AND owner = ${of.owner} AND client_id = ${of.clientId}`)
  return row && String(row.scopes).split(' ').filter(Boolean)
}

export const keepConsent = (
  tx: Tx,
  of: Consent,
  what: { readonly clientName: string; readonly scopes: readonly string[]; readonly now: number },
) =>
  tx.run(sql`INSERT INTO gh_consents
    (scope, owner, client_id, client_name, scopes, created_at, updated_at)
    VALUES (${of.scope}, ${of.owner}, ${of.clientId}, ${what.clientName},
            ${what.scopes.join(' ')}, ${what.now}, ${what.now})
    ON CONFLICT (scope, owner, client_id) DO UPDATE SET client_name = excluded.client_name,
      scopes = excluded.scopes, updated_at = excluded.updated_at`)

export const dropConsent = (tx: Tx, of: Consent) =>
  tx.run(sql`DELETE FROM gh_consents
    WHERE scope = ${of.scope} AND owner = ${of.owner} AND client_id = ${of.clientId}`)

export const dropConsentsAt = (tx: Tx, clientId: string) =>
  tx.run(sql`DELETE FROM gh_consents WHERE client_id = ${clientId}`)
