/** SQL of trusted issuers and their rules, and their cache by the text of `iss`. */
import { selectTargets } from '../../history/audit/reader.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import type { Mode, Scope } from '../../kernel/principal.ts'
import type { CustomerPlace } from '../../platform/storage/customer-rows.ts'
import type { Database, Reader, Row, Tx } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import { insertInto, join, prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { CreatedObject, CreatedReading } from '../access/key-reader.ts'
import type { ClientPermissions } from '../tokens/api.ts'
import type { IssuerRule } from './issuer-rules.ts'
import type { AssertionKeys } from './key-set.ts'

export const ISSUER_PREFIX = 'iss_'
const ID = /^iss_[0-9A-Za-z]{22}$/

/** The unique index of issuers. */
export const ISSUER_INDEX = 'gh_issuers_issuer'

export interface IssuerRow extends Row {
  readonly id: string
  readonly issuer: string
  readonly jwks: string | null
  readonly jwks_uri: string | null
  readonly reuse: 'until_expiry' | null
  readonly owners: string
  readonly created_at: number
}

interface RuleRow extends Row {
  readonly id: string
  readonly issuer_id: string
  readonly position: number
  readonly scope: number
  readonly customer: string
  readonly mode: Mode
  readonly claims: string
  readonly typ: string | null
  readonly scopes: string
  readonly person: 'email' | 'sub' | null
  readonly domains: string
}

const COLUMNS = 'id, issuer, jwks, jwks_uri, reuse, owners, created_at'
const byId = prepareStatement(`SELECT ${COLUMNS} FROM gh_issuers WHERE id = ?`)
const byIssuer = prepareStatement(`SELECT ${COLUMNS} FROM gh_issuers WHERE issuer = ?`)

export const lockIssuer = (tx: Tx, id: string) => tx.lock<IssuerRow>(byId([id]))

/** Returns a rule of an issuer that nothing changes until the transaction ends. */
export async function holdRule(tx: Tx, issuer: string, rule: string) {
  await tx.hold(byId([issuer]))
  return findRule(tx, issuer, rule)
}

/** Returns a rule of an issuer; undefined: it has ended. */
export const findRule = async (from: Reader, issuer: string, rule: string) =>
  (await readRules(from, [issuer])).get(issuer)!.find(({ id }) => id === rule)

export const insertIssuer = (tx: Tx, row: IssuerRow) => tx.run(insertInto('gh_issuers', row))

export const updateIssuer = (tx: Tx, row: IssuerRow) =>
  runOne(
    tx,
    sql`UPDATE gh_issuers SET jwks = ${row.jwks}, jwks_uri = ${row.jwks_uri},
    reuse = ${row.reuse}, owners = ${row.owners} WHERE id = ${row.id}`,
  )

export async function deleteIssuerRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM gh_issuer_rules WHERE issuer_id = ${id}`)
  await runOne(tx, sql`DELETE FROM gh_issuers WHERE id = ${id}`)
}

/** Lists the issuers that an operator created, the newest first. */
export const listIssuersCreatedBy = (from: Reader, operator: string, { limit }: CreatedReading) =>
  from.all<CreatedObject>(sql`SELECT i.id, i.issuer AS name, a.at
    FROM ${selectTargets('issuer.create', operator)} AS a JOIN gh_issuers i ON i.id = a.target
    ORDER BY a.id DESC LIMIT ${limit}`)

export async function countIssuers(from: Reader): Promise<number> {
  return Number((await from.get(sql`SELECT COUNT(*) AS total FROM gh_issuers`))?.total)
}

/** Replaces the rules of an issuer. */
export async function storeRules(tx: Tx, id: string, rules: readonly IssuerRule[]): Promise<void> {
  await tx.run(sql`DELETE FROM gh_issuer_rules WHERE issuer_id = ${id}`)
  for (const [position, rule] of rules.entries()) {
    await tx.run(sql`INSERT INTO gh_issuer_rules (id, issuer_id, position, scope, customer, mode,
        claims, typ, scopes, person, domains)
      VALUES (${rule.id}, ${id}, ${position}, ${rule.scope}, ${rule.customer}, ${rule.mode},
              ${JSON.stringify(rule.match)}, ${rule.typ ?? null}, ${JSON.stringify(rule.scopes)},
              ${rule.person ?? null}, ${JSON.stringify(rule.domains)})`)
  }
}

const toRule = (row: RuleRow): IssuerRule => ({
  id: row.id,
  match: JSON.parse(row.claims),
  typ: row.typ ?? undefined,
  scope: Number(row.scope) as Scope,
  customer: row.customer,
  mode: row.mode,
  scopes: JSON.parse(row.scopes),
  person: row.person ?? undefined,
  domains: JSON.parse(row.domains),
})

/** Returns the rules of issuers in their order, by the id of the issuer. */
export async function readRules(
  from: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly IssuerRule[]>> {
  const rules = new Map<string, IssuerRule[]>(ids.map((id) => [id, []]))
  if (ids.length === 0) return rules
  const rows =
    await from.all<RuleRow>(sql`SELECT id, issuer_id, position, scope, customer, mode, claims,
      typ, scopes, person, domains FROM gh_issuer_rules
    WHERE issuer_id IN (${join(ids)}) ORDER BY issuer_id, position`)
  for (const row of rows) rules.get(row.issuer_id)!.push(toRule(row))
  return rules
}

/** Locks each issuer that has rules of a customer, and returns all its rules in their order. */
export async function lockIssuersOf(tx: Tx, { no }: CustomerPlace) {
  const rows = await tx.arrays(sql`SELECT DISTINCT issuer_id FROM gh_issuer_rules
    WHERE scope IN (${no * 2}, ${no * 2 + 1}) ORDER BY issuer_id`)
  const ids = rows.map(([id]) => String(id))
  for (const id of ids) await lockIssuer(tx, id)
  return readRules(tx, ids)
}

/** Returns the names of issuers by their ids. */
export async function readIssuerNames(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const list = [...new Set(ids)].filter((id) => ID.test(id))
  if (list.length === 0) return new Map()
  const rows = await from.arrays(sql`SELECT id, issuer FROM gh_issuers WHERE id IN (${join(list)})`)
  return new Map(rows.map(([id, issuer]) => [String(id), String(issuer)]))
}

export interface TrustedIssuer {
  readonly id: string
  readonly issuer: string
  readonly keys: AssertionKeys
  /** Whether its assertions count until they expire. */
  readonly isReusable: boolean
  readonly rules: readonly IssuerRule[]
}

async function toIssuer(from: Reader, row: IssuerRow): Promise<TrustedIssuer> {
  const { id, issuer, jwks, jwks_uri } = row
  const fetched = jwks_uri === null ? { issuer } : { issuer, jwksUri: jwks_uri }
  return {
    id,
    issuer,
    keys: jwks === null ? fetched : { jwks: JSON.parse(jwks) },
    isReusable: row.reuse !== null,
    rules: (await readRules(from, [id])).get(id)!,
  }
}

export async function readIssuer(from: Reader, id: string): Promise<TrustedIssuer | undefined> {
  const row = await from.get<IssuerRow>(byId([id]))
  return row && toIssuer(from, row)
}

export interface Issuers {
  /** Finds a trusted issuer by the text of `iss`, cached for at most a second. */
  find(issuer: string): TrustedIssuer | undefined | Promise<TrustedIssuer | undefined>
  /** Evicts an issuer that changed on this node. */
  evict(issuer: string): void
}

/** Issuers have key sets of up to 16 KiB. */
const MAX_CACHED = 1_000

export function createIssuers(db: Database, clock: Pick<Clock, 'elapsedMs'>): Issuers {
  const load = async (issuer: string) => {
    const row = await db.get<IssuerRow>(byIssuer([issuer]))
    return row && toIssuer(db, row)
  }
  const cache = createLookupCache({ load, clock, maxEntries: MAX_CACHED })
  return { find: cache.get, evict: cache.evict }
}

/** Reads the permissions of the tokens of an issuer; undefined if it was deleted. */
export async function findIssuerPermissions(
  from: Reader,
  id: string,
): Promise<ClientPermissions | undefined> {
  if (!ID.test(id)) return undefined
  const issuer = await readIssuer(from, id)
  if (!issuer) return undefined
  const rules = new Map(issuer.rules.map((rule) => [rule.id, rule.scopes]))
  return { scopes: [], rules, firstParty: false, describesItself: false }
}
