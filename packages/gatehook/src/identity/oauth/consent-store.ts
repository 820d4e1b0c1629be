/** SQL of consents: the scopes that a person granted to a client (§5.2). */
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

interface ConsentKey {
  readonly scope: Scope
  /** The id of the person's row. */
  readonly owner: number
  readonly clientId: string
}

interface Consent extends ConsentKey {
  readonly clientName: string
  readonly scopes: readonly string[]
  /** Of a client that describes itself: its description, and scopes by redirect URI (§16.4). */
  readonly redirects?: ConsentRedirects | undefined
}

export interface ConsentRedirects {
  /** The hash of the name and the redirect URIs. */
  readonly description: string
  readonly scopes: Readonly<Record<string, readonly string[]>>
}

const selectConsent = ({ scope, owner, clientId }: ConsentKey) =>
  sql`SELECT scopes, redirects FROM gh_consents
    WHERE scope = ${scope} AND owner = ${owner} AND client_id = ${clientId}`

const readRedirects = (stored: string | null): ConsentRedirects | undefined =>
  stored === null ? undefined : JSON.parse(stored)

type GivenScopes = Pick<Consent, 'scopes' | 'redirects'>

const readConsent = (row: Row | undefined): GivenScopes | undefined =>
  row && {
    scopes: String(row.scopes).split(' ').filter(Boolean),
    redirects: readRedirects(row.redirects as string | null),
  }

/** Returns the scopes of a consent; undefined if there is none. */
export const findConsent = async (from: Reader, key: ConsentKey) =>
  readConsent(await from.get(selectConsent(key)))

/** Returns the scopes of a consent, and locks it: no other transaction changes or revokes it. */
export const lockConsent = async (tx: Tx, key: ConsentKey) =>
  readConsent(await tx.lock(selectConsent(key)))

/** Returns the scope in which a person consented to a client. */
export const findConsentScope = async (
  from: Reader,
  { owner, clientId }: Omit<ConsentKey, 'scope'>,
): Promise<Scope | undefined> =>
  (
    await from.get(sql`SELECT scope FROM gh_consents
    WHERE client_id = ${clientId} AND owner = ${owner}`)
  )?.scope

/** Returns the persons of a scope who consented to a client. */
export async function listConsentOwners(
  from: Reader,
  scope: Scope,
  clientId: string,
): Promise<number[]> {
  const rows = await from.arrays(sql`SELECT owner FROM gh_consents
    WHERE scope = ${scope} AND client_id = ${clientId}`)
  return rows.map(([owner]) => Number(owner))
}

export interface StoredConsent extends Consent {
  readonly createdAt: number
}

/** Lists the newest consents of a scope, of one person (`owner`) or of all. */
export async function listConsents(
  from: Reader,
  { scope, owner, limit }: { scope: Scope; owner: number | undefined; limit: number },
): Promise<readonly StoredConsent[]> {
  const rows = await from.all(sql`SELECT owner, client_id, client_name, scopes, redirects,
    created_at FROM gh_consents
    WHERE scope = ${scope} ${owner === undefined ? sql`` : sql`AND owner = ${owner}`}
    ORDER BY created_at DESC, owner, client_id LIMIT ${limit}`)
  return rows.map((row) => ({
    scope,
    owner: Number(row.owner),
    clientId: row.client_id,
    clientName: row.client_name,
    scopes: String(row.scopes).split(' ').filter(Boolean),
    redirects: readRedirects(row.redirects),
    createdAt: Number(row.created_at),
  }))
}

/** Inserts a consent, or replaces its scopes and the client's name. */
export const upsertConsent = (tx: Tx, consent: Consent, nowMs: number) =>
  tx.run(sql`INSERT INTO gh_consents
    (scope, owner, client_id, client_name, scopes, redirects, created_at, updated_at)
    VALUES (${consent.scope}, ${consent.owner}, ${consent.clientId}, ${consent.clientName},
            ${consent.scopes.join(' ')},
            ${consent.redirects ? JSON.stringify(consent.redirects) : null}, ${nowMs}, ${nowMs})
    ON CONFLICT (scope, owner, client_id) DO UPDATE SET client_name = excluded.client_name,
      scopes = excluded.scopes, redirects = excluded.redirects, updated_at = excluded.updated_at`)

export const deleteConsent = (tx: Tx, { scope, owner, clientId }: ConsentKey) =>
  tx.run(sql`DELETE FROM gh_consents
    WHERE scope = ${scope} AND owner = ${owner} AND client_id = ${clientId}`)

export const deleteConsentsAtClient = (tx: Tx, clientId: string) =>
  tx.run(sql`DELETE FROM gh_consents WHERE client_id = ${clientId}`)
