/**
 * The keys of a client (§16.7) or of a trusted issuer (§16.8): a JWK set, inline, at a URL or where
 * the metadata of the issuer says. A set in use is fetched every 10 minutes, so that a key that its
 * owner has removed ends; one that could not be read for a day is unusable. While fetches fail, a
 * further one delays no request whose key the set has.
 */
import type { createLocalJWKSet, JSONWebKeySet, JWK } from 'jose'
import { isLoopback } from '../../kernel/address.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { FetchDocument } from '../../kernel/fetched-document.ts'
import { isWebUrl } from '../../kernel/uri.ts'
import type { CountFetch } from './fetch-budget.ts'

const MAX_KEY_SET_BYTES = 16 * 1024
/** Sets of identity providers have certificates as well. */
const MAX_ISSUER_BYTES = 64 * 1024
const MAX_KEYS = 50
/** A set in use stays while others read fewer new ones between two of its uses. */
const MAX_CACHED = 1_500
/** Sources that were never read: they take no place of a set. */
const MAX_FAILED = 1_000
const REFUSED = 'too many key sets were fetched in a minute'
const FETCHED_EVERY_MS = 10 * 60_000
/** Between two fetches for an unknown key, or after a failure. */
const FETCHED_AGAIN_MS = 60_000
const USABLE_MS = 24 * 3_600_000
const MIN_RSA_BITS = 2_048
const MAX_RSA_BITS = 4_096
/** A larger exponent costs more to verify; 65537 has three bytes. */
const MAX_EXPONENT_CHARACTERS = 6
/** Parameters of private and symmetric keys (RFC 7518 §6). */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const
const CURVES: Readonly<Record<string, readonly string[]>> = { EC: ['P-256'], OKP: ['Ed25519'] }

/** Where the keys of a client are. */
export type ClientKeys = { readonly jwks: JSONWebKeySet } | { readonly jwksUri: string }

/** Where keys are; of an issuer without a URL, its metadata has it (OpenID Connect Discovery). */
export type AssertionKeys = ClientKeys | { readonly issuer: string; readonly jwksUri?: string }

/** The keys of a set, as `jose` selects one of them for a signature. */
export type SelectKey = ReturnType<typeof createLocalJWKSet>

const selectFrom = async (keys: JSONWebKeySet): Promise<SelectKey> =>
  (await import('jose')).createLocalJWKSet(keys)

const isKeyList = (
  value: unknown,
): value is { readonly keys: readonly Record<string, unknown>[] } =>
  typeof value === 'object' &&
  value !== null &&
  'keys' in value &&
  Array.isArray(value.keys) &&
  value.keys.every((key) => typeof key === 'object' && key !== null && !Array.isArray(key))

/** Returns the fault of a key; undefined if it verifies signatures of this server's algorithms. */
function findKeyFault(key: Readonly<Record<string, unknown>>): string | undefined {
  if (PRIVATE.some((name) => key[name] !== undefined)) return 'contains a private key'
  const { kty, crv, n, e } = key
  if (kty === 'RSA') {
    const bits = typeof n === 'string' ? rsaBits(n) : 0
    if (bits < MIN_RSA_BITS) return `has an RSA key of fewer than ${MIN_RSA_BITS} bits`
    if (bits > MAX_RSA_BITS) return `has an RSA key of more than ${MAX_RSA_BITS} bits`
    const isSmall = typeof e === 'string' && e.length <= MAX_EXPONENT_CHARACTERS
    return isSmall ? undefined : 'has an RSA key with a large exponent'
  }
  const curves = typeof kty === 'string' && Object.hasOwn(CURVES, kty) ? CURVES[kty]! : []
  return curves.includes(String(crv)) ? undefined : 'has a key that is not RSA, P-256 or Ed25519'
}

function rsaBits(modulus: string): number {
  const bytes = Buffer.from(modulus, 'base64url')
  const first = bytes.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : (bytes.length - first) * 8 - Math.clz32(bytes[first]!) + 24
}

/** Returns the fault of a set that a client registers; undefined if every key is usable. */
export function findKeySetFault(value: unknown): string | undefined {
  if (!isKeyList(value) || value.keys.length === 0) return 'is not a JWK set with keys'
  if (value.keys.length > MAX_KEYS) return `has more than ${MAX_KEYS} keys`
  if (JSON.stringify(value).length > MAX_KEY_SET_BYTES) return 'is too long'
  return value.keys.map(findKeyFault).find((fault) => fault !== undefined)
}

/** Returns the fault of the URL of a set; undefined if it may be fetched, as it is written. */
export function findKeySetUrlFault(text: string): string | undefined {
  const url = isWebUrl(text) ? URL.parse(text) : null
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === ''
  return isPlain && !text.includes('#')
    ? undefined
    : 'is not an https URL without user and fragment'
}

/**
 * Returns the fault of a URL of an issuer, whose own name has no query (RFC 8414 §2); undefined if
 * it may be fetched. On loopback it may be http: no network carries it.
 */
export function findIssuerUrlFault(text: string): string | undefined {
  const url = URL.parse(text)
  const isLocal = url?.protocol === 'http:' && isLoopback(url.hostname)
  return findKeySetUrlFault(isLocal ? text.replace(/^http:/i, 'https:') : text)
}

/** The members of a key that select it or verify with it; all are texts. */
const MEMBERS = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use'] as const
/** More than RFC 7517 §4.3 names. */
const MAX_OPERATIONS = 10

function publicKey(key: Readonly<Record<string, unknown>>): JWK {
  const texts = MEMBERS.filter((name) => typeof key[name] === 'string')
  const { key_ops: operations } = key
  const isList = Array.isArray(operations) && operations.every((name) => typeof name === 'string')
  return {
    ...Object.fromEntries(texts.map((name) => [name, key[name]])),
    ...(isList && { key_ops: operations.slice(0, MAX_OPERATIONS) }),
  } as JWK
}

/**
 * Returns the usable keys of a set, which may have further keys for other purposes. Members that
 * the server does not use are left out: they cost more memory than bytes.
 */
export function usableKeys(value: unknown): JSONWebKeySet {
  if (!isKeyList(value)) throw new Error('the document is not a JWK set')
  const keys = value.keys.slice(0, MAX_KEYS).filter((key) => findKeyFault(key) === undefined)
  return { keys: keys.map(publicKey) }
}

type FetchedSource = Exclude<AssertionKeys, { readonly jwks: JSONWebKeySet }>

/** Returns the name of a set: no client has one of an issuer; clients share those of one URL. */
const nameOf = (source: FetchedSource, ...customer: readonly string[]): string =>
  JSON.stringify(['issuer' in source ? source.issuer : null, source.jwksUri ?? null, ...customer])

/** @see OpenID Connect Discovery §4 */
const metadataUrl = (issuer: string): string =>
  `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`

/** Returns the URL of the keys in the metadata of an issuer, which must be its own. */
function readKeySetUrl(metadata: unknown, issuer: string): string {
  const { issuer: name, jwks_uri: url } = Object(metadata) as Record<string, unknown>
  if (name !== issuer) throw new Error('the metadata is of another issuer')
  const fault = typeof url === 'string' ? findIssuerUrlFault(url) : 'is missing'
  if (fault === undefined) return url as string
  throw new Error(`the jwks_uri of the metadata ${fault}`)
}

interface FetchedSet {
  readonly keys: JSONWebKeySet | undefined
  readonly select: SelectKey | undefined
  /** When the set was read; 0: never. */
  readonly readMs: number
  readonly attemptMs: number
  /** Why the last fetch failed. */
  readonly cause: string | undefined
}

const NEVER: FetchedSet = {
  keys: undefined,
  select: undefined,
  readMs: 0,
  attemptMs: 0,
  cause: undefined,
}

/** A refresh every 10 minutes is not counted, so that no caller uses up those of others. */
const isRefresh = ({ readMs, attemptMs }: FetchedSet, nowMs: number): boolean =>
  readMs > 0 && attemptMs + FETCHED_EVERY_MS <= nowMs

interface PendingFetch {
  readonly customer: string
  /** Resolves to undefined if the customer may not fetch now. */
  readonly set: Promise<FetchedSet | undefined>
}

export interface KeySets {
  /**
   * Returns the keys for a signature. Throws an error whose message is for the log.
   *
   * @param customer - of the client; empty for clients without one, and for issuers
   */
  find(keys: AssertionKeys, kid: string | undefined, customer?: string): Promise<SelectKey>
}

interface KeySetFetches {
  readonly fetchDocument: FetchDocument
  /** Fetches from the host of an issuer, which an administrator trusts, wherever it is. */
  readonly fetchTrusted: FetchDocument
}

/** Fetches a set, for an issuer without a URL after its metadata. */
async function readSet(
  { fetchDocument, fetchTrusted }: KeySetFetches,
  source: FetchedSource,
): Promise<unknown> {
  if (!('issuer' in source)) return (await fetchDocument(source.jwksUri, MAX_KEY_SET_BYTES)).value
  const { issuer } = source
  const fetchFrom = async (url: string) => {
    const isOwnHost = new URL(url).host === new URL(issuer).host
    return (await (isOwnHost ? fetchTrusted : fetchDocument)(url, MAX_ISSUER_BYTES)).value
  }
  return fetchFrom(source.jwksUri ?? readKeySetUrl(await fetchFrom(metadataUrl(issuer)), issuer))
}

interface KeySetDeps extends KeySetFetches {
  /** Counts fetches from addresses that clients choose. */
  readonly countFetch: CountFetch
  readonly clock: Pick<Clock, 'now'>
}

export function createKeySets(deps: KeySetDeps): KeySets {
  const { countFetch, clock } = deps
  const clientSets = new BoundedMap<string, FetchedSet>(MAX_CACHED)
  const issuerSets = new BoundedMap<string, FetchedSet>(MAX_CACHED)
  /** Of a URL and a customer: those of one do not evict what another one may not fetch yet. */
  const failures = new BoundedMap<string, FetchedSet>(MAX_FAILED)
  const pending = new Map<string, PendingFetch>()
  const inline = new WeakMap<JSONWebKeySet, SelectKey>()

  const setsOf = (source: FetchedSource) => ('issuer' in source ? issuerSets : clientSets)
  const mayFetch = async (source: FetchedSource, before: FetchedSet, customer: string) => {
    if ('issuer' in source || isRefresh(before, clock.now())) return true
    const kind = before.readMs > 0 ? 'used key set' : 'new key set'
    return (await countFetch({ kind, url: source.jwksUri, customer })) === undefined
  }
  const load = async (
    source: FetchedSource,
    before: FetchedSet,
    customer: string,
  ): Promise<FetchedSet | undefined> => {
    if (!(await mayFetch(source, before, customer))) return undefined
    const attemptMs = clock.now()
    let next: FetchedSet
    try {
      const keys = usableKeys(await readSet(deps, source))
      next = {
        keys,
        select: await selectFrom(keys),
        readMs: attemptMs,
        attemptMs,
        cause: undefined,
      }
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      next = { ...before, attemptMs, cause }
    }
    if (next.readMs > 0) {
      failures.delete(nameOf(source, customer))
      setsOf(source).set(nameOf(source), next)
    } else failures.set(nameOf(source, customer), next)
    return next
  }
  /** Also of customers that share the set; the refusal of another one does not count. */
  const fetchOnce = async (
    source: FetchedSource,
    before: FetchedSet,
    customer: string,
  ): Promise<FetchedSet | undefined> => {
    const name = nameOf(source)
    for (;;) {
      let current = pending.get(name)
      if (!current) {
        const set = load(source, before, customer).finally(() => pending.delete(name))
        current = { customer, set }
        pending.set(name, current)
      }
      const set = await current.set
      if (set || current.customer === customer) return set
    }
  }
  return {
    async find(keys, kid, customer = '') {
      if ('jwks' in keys) {
        const select = inline.get(keys.jwks) ?? (await selectFrom(keys.jwks))
        inline.set(keys.jwks, select)
        return select
      }
      const cached = setsOf(keys).get(nameOf(keys)) ?? failures.get(nameOf(keys, customer)) ?? NEVER
      const now = clock.now()
      const isUnknown = kid !== undefined && !cached.keys?.keys.some((key) => key.kid === kid)
      const isOld = cached.readMs + FETCHED_EVERY_MS <= now
      const isDue = (isUnknown || isOld) && cached.attemptMs + FETCHED_AGAIN_MS <= now
      const isUsable = cached.select !== undefined && cached.readMs + USABLE_MS > now
      if (isDue && !isUnknown && isUsable && cached.cause !== undefined) {
        // The former fetch failed: this one may hang, too.
        fetchOnce(keys, cached, customer).catch(() => undefined)
        return cached.select
      }
      const set = isDue
        ? ((await fetchOnce(keys, cached, customer)) ?? { ...cached, cause: REFUSED })
        : cached
      if (set.select && set.readMs + USABLE_MS > now) return set.select
      throw new Error(`the key set could not be read: ${set.cause ?? 'it is too old'}`)
    },
  }
}
