/**
 * Verifies assertions (RFC 7523 §3): JWTs by which a client authenticates (§16.7). `jose` verifies
 * signatures. An assertion counts once, on all nodes and after a crash: its `jti` is stored.
 */
import { compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose'
import { sha256 } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { ClientKeys, KeySets, SelectKey } from './key-set.ts'

export const ASSERTION_ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const MAX_CHARACTERS = 8_192
const MAX_JTI_CHARACTERS = 255
const MAX_AHEAD_S = 3_600
const CLOCK_TOLERANCE_S = 5

/** Why an assertion is not valid: for the log, unless `isPublic`. */
export class AssertionFault extends Error {
  readonly isPublic: boolean

  constructor(message: string, isPublic = false) {
    super(message)
    this.isPublic = isPublic
  }
}

/** Returns the subject of an assertion before it is verified; undefined if it is no JWT. */
export function readSubject(jwt: string): string | undefined {
  try {
    const { sub }: { readonly sub?: unknown } = jwt.length <= MAX_CHARACTERS ? decodeJwt(jwt) : {}
    return typeof sub === 'string' ? sub : undefined
  } catch {
    return undefined
  }
}

interface AssertionDeps {
  readonly db: Database
  readonly keySets: KeySets
  readonly clock: { now(): number }
  /** Returns the issuer of this server: the only audience. */
  readonly issuer: () => string
}

type Claims = Readonly<Record<string, unknown>>

/** Verifies the assertion of a client and marks it as used. Throws `AssertionFault`. */
export async function verifyClientAssertion(
  deps: AssertionDeps,
  { id, keys }: { readonly id: string; readonly keys: ClientKeys },
  jwt: string,
): Promise<void> {
  if (jwt.length > MAX_CHARACTERS) throw new AssertionFault('the assertion is too long')
  const claims = await verifySignature(deps.keySets, keys, jwt)
  const nowS = deps.clock.now() / 1000
  const fault = findClaimFault(claims, id, nowS)
  if (fault !== undefined) throw new AssertionFault(fault)
  const [audience, ...others] = [claims.aud].flat()
  if (audience !== deps.issuer() || others.length > 0) {
    throw new AssertionFault(`The aud of the assertion must be ${deps.issuer()}.`, true)
  }
  if (!(await markUsed(deps.db, id, String(claims.jti), Number(claims.exp)))) {
    throw new AssertionFault('the jti was used before')
  }
}

async function verifySignature(keySets: KeySets, keys: ClientKeys, jwt: string): Promise<Claims> {
  let select: SelectKey
  try {
    const { kid } = decodeProtectedHeader(jwt)
    select = await keySets.find(keys, kid)
  } catch (error) {
    throw new AssertionFault(error instanceof Error ? error.message : String(error))
  }
  const algorithms = [...ASSERTION_ALGORITHMS]
  try {
    const { payload } = await compactVerify(jwt, select, { algorithms }).catch(async (error) => {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // Without a kid, each key of the algorithm may have signed it.
      for await (const key of error) {
        const verified = await compactVerify(jwt, key, { algorithms }).catch(() => undefined)
        if (verified) return verified
      }
      throw new errors.JWSSignatureVerificationFailed()
    })
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) {
      return claims as Claims
    }
  } catch (error) {
    throw new AssertionFault(error instanceof Error ? error.message : String(error))
  }
  throw new AssertionFault('the claims are not an object')
}

/** Returns the first fault of the claims, except that of `aud`. */
function findClaimFault(
  { iss, sub, exp, nbf, iat, jti }: Claims,
  clientId: string,
  nowS: number,
): string | undefined {
  if (iss !== clientId) return 'iss is not the client id'
  if (sub !== clientId) return 'sub is not the client id'
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'exp is missing'
  if (exp <= nowS) return 'exp is in the past'
  if (exp > nowS + MAX_AHEAD_S) return `exp is more than ${MAX_AHEAD_S} seconds ahead`
  for (const [name, value] of Object.entries({ nbf, iat })) {
    if (value === undefined) continue
    if (typeof value !== 'number') return `${name} is not a number`
    if (value > nowS + CLOCK_TOLERANCE_S) return `${name} is in the future`
  }
  const isText = typeof jti === 'string' && jti !== ''
  if (!isText || jti.length > MAX_JTI_CHARACTERS) return 'jti is missing or too long'
  return undefined
}

/** Stores a `jti` of an issuer until its expiry. Returns false if it is stored already. */
async function markUsed(db: Database, issuer: string, jti: string, expS: number): Promise<boolean> {
  const hash = sha256(JSON.stringify([issuer, jti]))
  const inserted = await db.write((tx) =>
    tx.run(sql`INSERT INTO gh_used_assertions (hash, expires_at)
      VALUES (${hash}, ${Math.ceil(expS * 1000)}) ON CONFLICT (hash) DO NOTHING`),
  )
  return inserted === 1
}
