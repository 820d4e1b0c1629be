/**
 * The identities of persons at trusted issuers (§16.8): an administrator stores the `sub` by which
 * an issuer names a person. In a customer and mode, one person has it.
 */
import { Failure } from '../../kernel/failure.ts'
import { sha256 } from '../../kernel/secret.ts'
import { ConstraintError, type Reader, type Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { b } from '../../protocol/fields/members.ts'
import type { CredentialRow } from './store.ts'
import { IDENTITY_INDEX } from './tables.ts'

const MAX_ISSUER = 500
const MAX_SUB = 500
const MAX_IDENTITIES = 20

export interface AssertedIdentity {
  readonly issuer: string
  readonly sub: string
}

const members = {
  issuer: b.line(MAX_ISSUER).describe('The `iss` of assertions.').example('https://idp.example'),
  sub: b.line(MAX_SUB).describe('The `sub` of assertions.').example('00u1a2b3c4'),
}
export const assertedIdentity = b.object(members)
export const identitiesInput = b
  .list(assertedIdentity, { max: MAX_IDENTITIES })
  .describe('How trusted issuers name the person (`/admin/issuers`).')

type PersonKey = Pick<CredentialRow, 'resource' | 'id'>

export const readIdentities = (
  from: Reader,
  { resource, id }: PersonKey,
): Promise<AssertedIdentity[]> =>
  from.all<AssertedIdentity & Record<string, unknown>>(sql`SELECT issuer, sub FROM gh_identities
    WHERE resource = ${resource} AND person = ${id} ORDER BY issuer, sub`)

const deleteIdentities = (tx: Tx, { resource, id }: PersonKey) =>
  tx.run(sql`DELETE FROM gh_identities WHERE resource = ${resource} AND person = ${id}`)

/** Replaces the identities of a person. Throws 409 `conflict` if another person has one. */
export async function storeIdentities(
  tx: Tx,
  { resource, id, scope }: PersonKey & Pick<CredentialRow, 'scope'>,
  identities: readonly AssertedIdentity[],
): Promise<void> {
  await deleteIdentities(tx, { resource, id })
  for (const [at, { issuer, sub }] of uniqueOf(identities).entries()) {
    try {
      await tx.run(sql`INSERT INTO gh_identities (resource, person, position, scope, issuer, sub)
        VALUES (${resource}, ${id}, ${at}, ${scope}, ${issuer}, ${sub})`)
    } catch (error) {
      if (!(error instanceof ConstraintError) || !error.isOf(IDENTITY_INDEX)) throw error
      const message = 'is the identity of another person'
      throw new Failure('conflict', `identities: ${message}`, {
        errors: [{ pointer: `/identities/${at}`, code: 'conflict', message }],
      })
    }
  }
}

const hashOf = (value: unknown): string =>
  Buffer.from(sha256(JSON.stringify(value))).toString('base64url')

/** Returns the name of an identity in tokens and registrations of agents. */
export const hashIdentity = ({ issuer, sub }: AssertedIdentity): string => hashOf([issuer, sub])

/** The same of an e-mail address, which names the person with this sign-in name. */
export const hashEmail = (email: string): string => hashOf(foldName(email))

/** Returns the names of a person that hashes in tokens and registrations can state. */
export async function readIdentityHashes(
  from: Reader,
  person: PersonKey & Pick<CredentialRow, 'username'>,
): Promise<ReadonlySet<string>> {
  const identities = await readIdentities(from, person)
  return new Set([hashEmail(person.username), ...identities.map(hashIdentity)])
}

const nameOf = ({ issuer, sub }: AssertedIdentity) => JSON.stringify([issuer, sub])

const uniqueOf = (identities: readonly AssertedIdentity[]): AssertedIdentity[] => [
  ...new Map(identities.map((identity) => [nameOf(identity), identity])).values(),
]

/** Whether the second list lacks an identity of the first. */
export function losesIdentity(
  before: readonly AssertedIdentity[],
  after: readonly AssertedIdentity[],
): boolean {
  const names = new Set(after.map(nameOf))
  return before.some((identity) => !names.has(nameOf(identity)))
}

/** Returns the id of the person that an issuer names in a scope; undefined: none. */
export async function findIdentified(
  from: Reader,
  resource: string,
  scope: number,
  { issuer, sub }: AssertedIdentity,
): Promise<number | undefined> {
  const row = await from.get<{ person: number }>(sql`SELECT person FROM gh_identities
    WHERE scope = ${scope} AND issuer = ${issuer} AND sub = ${sub} AND resource = ${resource}`)
  return row && Number(row.person)
}
