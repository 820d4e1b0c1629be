/**
 * Verifies assertions (RFC 7523 §3): JWTs by which a client authenticates (§16.7), or a trusted
 * issuer names a caller (§16.8). The verification is a list of checks, which an operator can read.
 * `jose` selects the key of a signature; `node:crypto` verifies it, in half the time of WebCrypto.
 * An assertion counts once, on all nodes and after a crash: its `jti` is stored.
 */
import { constants, KeyObject, verify, type webcrypto } from 'node:crypto'
import type { CompactJWSHeaderParameters } from 'jose'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { decodeCanonical, decodeObject } from '../tokens/jws.ts'
import {
  mayBeUsed,
  type RestoredAt,
  type SingleUse,
  useOnce,
  wasUsed,
} from '../tokens/single-use.ts'
import type { AssertionKeys, ClientKeys, KeySets, SelectKey } from './key-set.ts'

const SHA256 = { hash: 'sha256' } as const
const ALGORITHMS = {
  ES256: { ...SHA256, dsaEncoding: 'ieee-p1363' },
  RS256: { ...SHA256, padding: constants.RSA_PKCS1_PADDING },
  PS256: {
    ...SHA256,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  },
  EdDSA: { hash: null },
  Ed25519: { hash: null },
} as const
type AssertionAlgorithm = keyof typeof ALGORITHMS
export const ASSERTION_ALGORITHMS = Object.keys(ALGORITHMS) as AssertionAlgorithm[]
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
  readonly header: Claims
  readonly claims: Claims
  readonly signingInput: string
  readonly signature: Buffer
}

/** Throws the fault of the first check that fails. */
export function requirePassed(checks: readonly AssertionCheck[]): void {
  const failed = checks.find(({ fault }) => fault !== undefined)
  if (failed) throw new AssertionFault(failed.fault!, failed.isPublic)
}

/** Decodes an assertion before it is verified; undefined if it is no JWT. */
export function decodeAssertion(jwt: string): DecodedAssertion | undefined {
  if (jwt.length > MAX_ASSERTION_CHARACTERS) return undefined
  const [head = '', payload = '', text = '', ...others] = jwt.split('.')
  const [header, claims, signature] = [
    decodeObject(head),
    decodeObject(payload),
    decodeCanonical(text),
  ]
  if (!header || !claims || !signature || others.length > 0) return undefined
  return { header, claims, signingInput: `${head}.${payload}`, signature }
}

/** Returns the subject of an assertion before it is verified; undefined if it is no JWT. */
export function readSubject(jwt: string): string | undefined {
  const sub: unknown = decodeAssertion(jwt)?.claims.sub
  return typeof sub === 'string' ? sub : undefined
}

export interface AssertionDeps {
  readonly db: Database
  readonly keySets: KeySets
  readonly clock: { now(): number }
  /** Returns the issuer of this server: the only audience. */
  readonly issuer: () => string
  readonly restoredAt: RestoredAt
}

export interface ExpectedAssertion {
  readonly keys: AssertionKeys
  /** Of the client whose keys they are; empty for a client without one. */
  readonly customer?: string
  readonly iss: string
  /** Undefined: any text. */
  readonly sub?: string
  readonly maxAheadS: number
  readonly needsJti: boolean
  /** Whether it counts once. */
  readonly isSingle: boolean
}

const ONCE = { needsJti: true, isSingle: true } as const

/** Verifies the assertion of a client and marks it as used. Throws `AssertionFault`. */
export async function verifyClientAssertion(
  deps: AssertionDeps,
  { id, ...source }: { readonly id: string; readonly keys: ClientKeys; readonly customer: string },
  jwt: string,
): Promise<void> {
  const assertion = decodeAssertion(jwt)
  if (!assertion) throw new AssertionFault('the assertion is no JWT, or too long')
  const expected = { iss: id, sub: id, maxAheadS: CLIENT_MAX_AHEAD_S, ...ONCE }
  requirePassed(await examineAssertion(deps, { ...expected, ...source }, assertion))
  if (!(await deps.db.write((tx) => markUsed(tx, id, assertion.claims)))) {
    throw new AssertionFault(USED_BEFORE)
  }
}

/** Performs the checks that every assertion must pass. It marks nothing as used. */
export async function examineAssertion(
  { keySets, clock, issuer, restoredAt }: AssertionDeps,
  expected: ExpectedAssertion,
  assertion: DecodedAssertion,
): Promise<AssertionCheck[]> {
  const { claims } = assertion
  const [audience, ...others] = [claims.aud].flat()
  const isForServer = audience === issuer() && others.length === 0
  return [
    { name: 'signature', fault: await findSignatureFault(keySets, expected, assertion) },
    ...claimChecks(claims, expected, clock.now() / 1000),
    {
      name: 'aud',
      fault: isForServer ? undefined : `The aud of the assertion must be ${issuer()}.`,
      isPublic: true,
    },
    {
      name: 'restore',
      fault: expected.isSingle ? findRestoreFault(claims, expected, restoredAt) : undefined,
      isPublic: true,
    },
  ]
}

/** It may have been used after the backup: then nothing stores that. */
function findRestoreFault(
  { iat, nbf, exp }: Claims,
  { maxAheadS }: Pick<ExpectedAssertion, 'maxAheadS'>,
  restoredAt: RestoredAt,
): string | undefined {
  const earliest = typeof exp === 'number' ? exp - maxAheadS : undefined
  const times = [iat, nbf, earliest].filter((time) => typeof time === 'number')
  const validFromMs = (Math.max(...times) - CLOCK_TOLERANCE_S) * 1000
  if (!mayBeUsed(validFromMs, restoredAt)) return undefined
  return 'The assertion may be older than the restored data of this server. Send one with iat.'
}

/** The keys of `jose`, as `node:crypto` takes them. */
const keyObjects = new WeakMap<webcrypto.CryptoKey, KeyObject>()

function isSignedBy(
  cryptoKey: webcrypto.CryptoKey,
  { signingInput, signature }: DecodedAssertion,
  algorithm: AssertionAlgorithm,
): boolean {
  const key = keyObjects.get(cryptoKey) ?? KeyObject.from(cryptoKey)
  keyObjects.set(cryptoKey, key)
  const { hash, ...options } = ALGORITHMS[algorithm]
  return verify(hash, Buffer.from(signingInput), { key, ...options }, signature)
}

async function selectKeys(select: SelectKey, header: CompactJWSHeaderParameters) {
  try {
    return [await select(header)]
  } catch (error) {
    const { errors } = await import('jose')
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // Without a kid, each key of the algorithm may have signed it.
    return Array.fromAsync(error)
  }
}

async function findSignatureFault(
  keySets: KeySets,
  { keys, customer }: Pick<ExpectedAssertion, 'keys' | 'customer'>,
  assertion: DecodedAssertion,
): Promise<string | undefined> {
  const { kid, alg, crit } = assertion.header
  const algorithm = ASSERTION_ALGORITHMS.find((name) => name === alg)
  if (!algorithm) return `alg is not one of ${ASSERTION_ALGORITHMS.join(', ')}`
  if (crit !== undefined) return 'crit names an extension, and none is supported'
  if (kid !== undefined && typeof kid !== 'string') return 'kid is no text'
  const header = { alg: algorithm, ...(kid !== undefined && { kid }) }
  try {
    const select = await keySets.find(keys, header.kid, customer)
    const candidates = await selectKeys(select, header)
    const isSigned = candidates.some((key) => isSignedBy(key, assertion, algorithm))
    return isSigned ? undefined : 'no key of the set verifies the signature'
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
