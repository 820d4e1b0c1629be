/**
 * Verifies assertions (RFC 7523 §3): JWTs by which a client authenticates (§16.7), or a trusted
 * issuer names a caller (§16.8). The verification is a list of checks, which an operator can read.
 * `jose` verifies signatures, and is loaded for the first one. An assertion counts once, on all
 * nodes and after a crash: its `jti` is stored.
 */
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { type SingleUse, useOnce, wasUsed } from '../tokens/single-use.ts'
import type { AssertionKeys, ClientKeys, KeySets } from './key-set.ts'

export const ASSERTION_ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export const MAX_ASSERTION_CHARACTERS = 8_192
const MAX_JTI_CHARACTERS = 255
const MAX_SUB_CHARACTERS = 500
const CLIENT_MAX_AHEAD_S = 3_600
const CLOCK_TOLERANCE_S = 5

/** Why an assertion is not valid: for the log, unless `isPublic`. */
export class AssertionFault extends Error {
  readonly isPublic: boolean

  constructor(message: string, isPublic = false) {
    super(message)
    this.isPublic = isPublic
  }
}

/** One check of an assertion, in the order in which they decide. */
export interface AssertionCheck {
  readonly name: string
  /** Why it fails; undefined: it passes. */
  readonly fault?: string | undefined
  /** Whether the caller may read the fault. */
  readonly isPublic?: boolean
}

export type Claims = Readonly<Record<string, unknown>>

/** A JWT that is not verified yet. */
export interface DecodedAssertion {
  readonly jwt: string
  readonly header: Claims
  readonly claims: Claims
}

/** Throws the fault of the first check that fails. */
export function requirePassed(checks: readonly AssertionCheck[]): void {
  const failed = checks.find(({ fault }) => fault !== undefined)
  if (failed) throw new AssertionFault(failed.fault!, failed.isPublic)
}

/** Decodes an assertion before it is verified; undefined if it is no JWT. */
export async function decodeAssertion(jwt: string): Promise<DecodedAssertion | undefined> {
  if (jwt.length > MAX_ASSERTION_CHARACTERS) return undefined
  const { decodeJwt, decodeProtectedHeader } = await import('jose')
  try {
    return { jwt, header: { ...decodeProtectedHeader(jwt) }, claims: decodeJwt(jwt) }
  } catch {
    return undefined
  }
}

/** Returns the subject of an assertion before it is verified; undefined if it is no JWT. */
export async function readSubject(jwt: string): Promise<string | undefined> {
  const sub: unknown = (await decodeAssertion(jwt))?.claims.sub
  return typeof sub === 'string' ? sub : undefined
}

export interface AssertionDeps {
  readonly db: Database
  readonly keySets: KeySets
  readonly clock: { now(): number }
  /** Returns the issuer of this server: the only audience. */
  readonly issuer: () => string
}

export interface ExpectedAssertion {
  readonly keys: AssertionKeys
  readonly iss: string
  /** Undefined: any text. */
  readonly sub?: string
  readonly maxAheadS: number
  readonly needsJti: boolean
}

/** Verifies the assertion of a client and marks it as used. Throws `AssertionFault`. */
export async function verifyClientAssertion(
  deps: AssertionDeps,
  { id, keys }: { readonly id: string; readonly keys: ClientKeys },
  jwt: string,
): Promise<void> {
  const assertion = await decodeAssertion(jwt)
  if (!assertion) throw new AssertionFault('the assertion is no JWT, or too long')
  const expected = { keys, iss: id, sub: id, maxAheadS: CLIENT_MAX_AHEAD_S, needsJti: true }
  requirePassed(await examineAssertion(deps, expected, assertion))
  if (!(await deps.db.write((tx) => markUsed(tx, id, assertion.claims)))) {
    throw new AssertionFault(USED_BEFORE)
  }
}

/** Performs the checks that every assertion must pass. It marks nothing as used. */
export async function examineAssertion(
  { keySets, clock, issuer }: AssertionDeps,
  { keys, ...expected }: ExpectedAssertion,
  assertion: DecodedAssertion,
): Promise<AssertionCheck[]> {
  const { claims } = assertion
  const [audience, ...others] = [claims.aud].flat()
  const isForServer = audience === issuer() && others.length === 0
  return [
    { name: 'signature', fault: await findSignatureFault(keySets, keys, assertion) },
    ...claimChecks(claims, expected, clock.now() / 1000),
    {
      name: 'aud',
      fault: isForServer ? undefined : `The aud of the assertion must be ${issuer()}.`,
      isPublic: true,
    },
  ]
}

async function findSignatureFault(
  keySets: KeySets,
  keys: AssertionKeys,
  { jwt, header: { kid } }: DecodedAssertion,
): Promise<string | undefined> {
  const { compactVerify, errors } = await import('jose')
  const algorithms = [...ASSERTION_ALGORITHMS]
  try {
    const select = await keySets.find(keys, typeof kid === 'string' ? kid : undefined)
    await compactVerify(jwt, select, { algorithms }).catch(async (error) => {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // Without a kid, each key of the algorithm may have signed it.
      for await (const key of error) {
        const verified = await compactVerify(jwt, key, { algorithms }).catch(() => undefined)
        if (verified) return verified
      }
      throw new errors.JWSSignatureVerificationFailed()
    })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= max

const CONTROL = /[\u0000-\u001f\u007f]/

/** Whether a claim is a text that can be stored and displayed. */
export const isPlainText = (value: unknown, max: number): value is string =>
  isText(value, max) && !CONTROL.test(value) && value.isWellFormed()

function findTimeFault(name: string, value: unknown, nowS: number): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number') return `${name} is not a number`
  return value > nowS + CLOCK_TOLERANCE_S ? `${name} is in the future` : undefined
}

function findExpiryFault(exp: unknown, nowS: number, maxAheadS: number): string | undefined {
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'exp is missing'
  if (exp <= nowS) return 'exp is in the past'
  return exp > nowS + maxAheadS ? `exp is more than ${maxAheadS} seconds ahead` : undefined
}

function findSubjectFault(sub: unknown, expected: string | undefined): string | undefined {
  if (expected !== undefined) return sub === expected ? undefined : `sub is not ${expected}`
  const isPlain = isPlainText(sub, MAX_SUB_CHARACTERS)
  return isPlain ? undefined : 'sub is missing, too long, or has control characters'
}

const claimChecks = (
  { iss, sub, exp, nbf, iat, jti }: Claims,
  expected: Omit<ExpectedAssertion, 'keys'>,
  nowS: number,
): AssertionCheck[] => [
  { name: 'iss', fault: iss === expected.iss ? undefined : `iss is not ${expected.iss}` },
  { name: 'sub', fault: findSubjectFault(sub, expected.sub) },
  { name: 'exp', fault: findExpiryFault(exp, nowS, expected.maxAheadS) },
  { name: 'nbf', fault: findTimeFault('nbf', nbf, nowS) },
  { name: 'iat', fault: findTimeFault('iat', iat, nowS) },
  {
    name: 'jti',
    fault:
      isText(jti, MAX_JTI_CHARACTERS) || (jti === undefined && !expected.needsJti)
        ? undefined
        : 'jti is missing or too long',
  },
]

export const USED_BEFORE = 'the jti was used before'

const singleUse = (issuer: string, { jti }: Claims): SingleUse => ({
  purpose: `assertion ${issuer}`,
  text: JSON.stringify(jti),
})

/** Stores a `jti` of an issuer until its expiry. Returns false if it is stored already. */
export const markUsed = (tx: Tx, issuer: string, claims: Claims): Promise<boolean> =>
  useOnce(tx, singleUse(issuer, claims), Math.ceil(Number(claims.exp) * 1000))

/** Returns whether the `jti` of an issuer is stored. */
export const isUsed = (from: Reader, issuer: string, claims: Claims): Promise<boolean> =>
  wasUsed(from, singleUse(issuer, claims))
