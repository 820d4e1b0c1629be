/**
 * The keys that sign access tokens (§4.6): ES256, encrypted at rest. The server publishes a new key
 * before it signs. It retains the old one until the tokens signed with it have expired. Each has a
 * key of RSA beside it, which signs ID tokens meanwhile, and one that signs assertions to upstreams
 * (§17.5); all have the same states (§16.10).
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
import { promisify } from 'node:util'
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditSigner, recordAudit } from '../../history/audit/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import type { SigningKey } from './access-token.ts'
import { type KeyReplacement, TOKENS_ACTOR } from './api.ts'
import { ASSERTION_TYPE, encodeHeader } from './jws.ts'
import type { SigningKeyState } from './operations.ts'
import * as store from './signing-key-store.ts'
import { ASSERTION_PURPOSE, RSA_PURPOSE, SIGNING_PURPOSE } from './tables.ts'

/** How long clients may cache the key set (`Cache-Control: max-age`). */
export const KEY_SET_MAX_AGE_S = 300
/** A client that cached the key set reads the new key before that key signs. */
const PUBLISH_AHEAD_MS = 2 * KEY_SET_MAX_AGE_S * 1000
const DAY_MS = 86_400_000
const ROTATION_INTERVAL_MS = 90 * DAY_MS
/** The longest access-token lifetime that can be configured, and an hour of clock skew. */
const RETENTION_MS = DAY_MS + 3_600_000
/** Bounds the reads that unknown `kid`s cause. */
const MIN_RELOAD_INTERVAL_MS = 1_000

/** NIST SP 800-131A and the BSI accept it beyond 2030 for signatures that live for minutes. */
const RSA_BITS = 2048

/** Computes the JWK thumbprint of a public key (RFC 7638 §3.2): its members by name. */
const computeThumbprint = ({ crv, e, kty, n, x, y }: webcrypto.JsonWebKey): string =>
  createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')

/** Returns the JWK of a key pair: its public members, and its private ones as well. */
function toJwks({ publicKey, privateKey }: KeyPair, alg: string) {
  const members = publicKey.export({ format: 'jwk' })
  const publicJwk = { ...members, kid: computeThumbprint(members), use: 'sig', alg }
  return { publicJwk, privateJwk: { ...privateKey.export({ format: 'jwk' }), ...publicJwk } }
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

interface KeyDeps {
  readonly vault: Vault
  readonly clock: Clock
}

async function generateKey({ vault, clock }: KeyDeps, aheadMs: number) {
  const generate = promisify(generateKeyPair)
  const ec = toJwks(await generate('ec', { namedCurve: 'P-256' }), 'ES256')
  const rsa = toJwks(await generate('rsa', { modulusLength: RSA_BITS }), 'RS256')
  const assertion = toJwks(await generate('ec', { namedCurve: 'P-256' }), 'ES256')
  const { kid } = ec.publicJwk
  const now = clock.now()
  return {
    kid,
    public_jwk: JSON.stringify(ec.publicJwk),
    encrypted_private_jwk: vault.encrypt(SIGNING_PURPOSE, kid, JSON.stringify(ec.privateJwk)),
    rsa_public_jwk: JSON.stringify(rsa.publicJwk),
    encrypted_rsa_jwk: vault.encrypt(RSA_PURPOSE, kid, JSON.stringify(rsa.privateJwk)),
    assertion_public_jwk: JSON.stringify(assertion.publicJwk),
    encrypted_assertion_jwk: vault.encrypt(
      ASSERTION_PURPOSE,
      kid,
      JSON.stringify(assertion.privateJwk),
    ),
    created_at: now,
    signs_from: now + aheadMs,
  }
}

/** Creates the first key if there is none; it signs at once. Returns the `kid` of the newest. */
export async function ensureSigningKey(db: Database, deps: KeyDeps): Promise<string> {
  const newest = (await store.listSigningKeys(db)).at(-1)
  if (newest) return newest.kid
  const row = await generateKey(deps, 0)
  await db.write(async (tx) => {
    if (await store.claimFirstKey(tx, row.kid)) await store.insertSigningKey(tx, row)
  })
  return (await store.listSigningKeys(db)).at(-1)!.kid
}

/** Returns the keys without their content, in the order in which they sign. */
export async function listSigningKeyStates(from: Reader, now: number): Promise<SigningKeyState[]> {
  const rows = await store.listSigningKeys(from)
  const current = Math.max(
    0,
    rows.findLastIndex(({ signs_from }) => signs_from <= now),
  )
  return rows.map(({ kid, created_at, signs_from }, at) => ({
    id: kid,
    algorithm: 'ES256',
    created_at: isoTime(created_at),
    signs_from: isoTime(signs_from),
    state: at === current ? 'current' : at > current ? 'next' : 'previous',
  }))
}

/** The keys, cached by this node. */
export interface KeyRing {
  /** Reads the keys again. */
  reload(): Promise<void>
  /** Returns the key that signs now. */
  findCurrentKey(): SigningKey | Promise<SigningKey>
  /** Returns a public key. Reads again for an unknown `kid`, at most once a second. */
  findPublicKey(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>
  /** Returns the JWK Set as JSON: past, current and future keys (RFC 7517 §5). */
  readKeySet(): Promise<string>
  /** Returns the JWK Set that verifies assertions to upstreams (§17.5). */
  readAssertionKeySet(): Promise<string>
  /** Publishes a new key. Throws 409 `invalid_state` while the newest one does not sign yet. */
  rotate(actor: Actor): Promise<{ readonly kid: string; readonly signs_from: string }>
  /** Deletes all keys, for one that leaked, and creates one that signs at once. */
  replace(actor: Actor): Promise<KeyReplacement>
  /** Publishes a new key if the newest has signed for 90 days. Returns whether it did. */
  rotateIfDue(): Promise<boolean>
  /** Deletes keys whose tokens have expired. Returns their number. */
  purge(): Promise<number>
}

interface KeyRingDeps extends KeyDeps {
  readonly db: Database
  readonly random: Random
  readonly trail: AuditSigner
  /** Notifies other nodes, in the transaction that adds a key. */
  readonly publishKey: (tx: Tx, kid: string) => Promise<void>
}

/** Creates a key ring that reads the keys when they are first needed. */
export function createKeyRing(deps: KeyRingDeps): KeyRing {
  const { db, vault, clock } = deps
  const cache = createKeyCache(deps)
  const privateKeys = new Map<string, SigningKey>()
  const decrypt = (row: store.SigningKeyRow): SigningKey => {
    let key = privateKeys.get(row.kid)
    if (!key) {
      const { kid } = row
      const read = (purpose: string, encrypted: Uint8Array) => {
        const key = JSON.parse(vault.decrypt(purpose, kid, Buffer.from(encrypted)).toString())
        return { kid: String(key.kid), privateKey: createPrivateKey({ format: 'jwk', key }) }
      }
      const ES256 = read(SIGNING_PURPOSE, row.encrypted_private_jwk)
      const RS256 = read(RSA_PURPOSE, row.encrypted_rsa_jwk)
      const assertion = read(ASSERTION_PURPOSE, row.encrypted_assertion_jwk)
      key = {
        ...ES256,
        header: encodeHeader(kid),
        identity: { ES256, RS256 },
        assertion: { ...assertion, header: encodeHeader(assertion.kid, ASSERTION_TYPE) },
      }
      privateKeys.set(row.kid, key)
    }
    return key
  }
  const selectCurrent = ({ rows }: CachedKeys): SigningKey => {
    const now = clock.now()
    return decrypt(rows.findLast((row) => row.signs_from <= now) ?? rows[0]!)
  }
  const isDue = ({ signs_from }: store.SigningKeyRow) =>
    signs_from + ROTATION_INTERVAL_MS <= clock.now()

  return {
    reload: cache.reload,
    findCurrentKey() {
      const keys = cache.get()
      return keys instanceof Promise ? keys.then(selectCurrent) : selectCurrent(keys)
    },
    findPublicKey: cache.findPublicKey,
    readKeySet: cache.readKeySet,
    readAssertionKeySet: cache.readAssertionKeySet,
    async rotate(actor) {
      const row = await addKey(deps, actor, ({ signs_from }) => signs_from <= clock.now())
      await cache.reload()
      if (row) return { kid: row.kid, signs_from: isoTime(row.signs_from) }
      const { kid, signs_from } = (await cache.get()).rows.at(-1)!
      const message = `The key ${kid} is published already and signs from ${isoTime(signs_from)}.`
      throw new Failure('invalid_state', message)
    },
    async replace(actor) {
      const replacement = await replaceKeys(deps, actor)
      await cache.reload()
      return replacement
    },
    async rotateIfDue() {
      const newest = (await cache.get()).rows.at(-1)
      if (!newest || !isDue(newest)) return false
      const row = await addKey(deps, TOKENS_ACTOR, isDue)
      await cache.reload()
      return row !== undefined
    },
    async purge() {
      const count = await db.write(
        (tx) => store.deleteRetiredKeys(tx, clock.now() - RETENTION_MS),
        { single: true },
      )
      if (count > 0) await cache.reload()
      return count
    },
  }
}

/** Adds a key under a lock, if `isAllowed` accepts the newest key; else returns undefined. */
async function addKey(
  deps: KeyRingDeps,
  actor: Actor,
  isAllowed: (newest: store.SigningKeyRow) => boolean,
): Promise<store.SigningKeyRow | undefined> {
  const row = await generateKey(deps, PUBLISH_AHEAD_MS)
  return deps.db.write(async (tx) => {
    await store.lockSigningKeys(tx)
    const newest = (await store.listSigningKeys(tx)).at(-1)!
    if (!isAllowed(newest)) return undefined
    await store.insertSigningKey(tx, row)
    const detail = { signs_from: isoTime(row.signs_from), replaces: newest.kid }
    await recordAudit(tx, { actor, action: 'signing_key.rotate', target: row.kid, detail }, deps)
    await deps.publishKey(tx, row.kid)
    return row
  })
}

async function replaceKeys(deps: KeyRingDeps, actor: Actor): Promise<KeyReplacement> {
  const row = await generateKey(deps, 0)
  return deps.db.write(async (tx) => {
    await store.lockSigningKeys(tx)
    const deleted = (await store.listSigningKeys(tx)).map(({ kid }) => kid)
    await store.deleteAllKeys(tx)
    await store.insertSigningKey(tx, row)
    const detail = { deleted }
    await recordAudit(tx, { actor, action: 'signing_key.replace', target: row.kid, detail }, deps)
    await deps.publishKey(tx, row.kid)
    return { kid: row.kid, deleted }
  })
}

interface CachedKeys {
  readonly rows: readonly store.SigningKeyRow[]
  readonly publicKeys: ReadonlyMap<string, KeyObject>
  readonly keySet: string
  readonly assertionKeySet: string
  /** `Vault.generation` at the read: after a change, the private keys may not decrypt. */
  readonly generation: number
}

const toKeySet = (jwks: readonly string[]): string => `{"keys":[${jwks.join(',')}]}`

function createKeyCache({ db, clock, vault }: KeyRingDeps) {
  let cachedKeys: CachedKeys | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let pendingRead: Promise<void> | undefined
  const read = async () => {
    const begunMs = clock.elapsedMs()
    const { generation } = vault
    const rows = await store.listSigningKeys(db)
    const jwks = rows.flatMap(({ public_jwk, rsa_public_jwk }) => [public_jwk, rsa_public_jwk])
    const publicKeys = new Map(
      jwks.map((jwk) => {
        const key = JSON.parse(jwk)
        return [key.kid, createPublicKey({ format: 'jwk', key })]
      }),
    )
    const keySet = toKeySet(jwks)
    const assertionKeySet = toKeySet(rows.map((row) => row.assertion_public_jwk))
    cachedKeys = { rows, publicKeys, keySet, assertionKeySet, generation }
    readAtMs = begunMs
  }
  /** Concurrent callers share one read. */
  const readShared = () => {
    pendingRead ??= read().finally(() => {
      pendingRead = undefined
    })
    return pendingRead
  }
  const isRecent = () => clock.elapsedMs() - readAtMs < MIN_RELOAD_INTERVAL_MS
  return {
    async reload() {
      // A read that has begun may miss the change that caused this call.
      await pendingRead?.catch(() => undefined)
      await readShared()
    },
    get: (): CachedKeys | Promise<CachedKeys> =>
      cachedKeys?.generation === vault.generation
        ? cachedKeys
        : readShared().then(() => cachedKeys!),
    findPublicKey(kid: string): ReturnType<KeyRing['findPublicKey']> {
      const key = cachedKeys?.publicKeys.get(kid)
      if (key || isRecent()) return key
      return readShared().then(() => cachedKeys?.publicKeys.get(kid))
    },
    async readKeySet(): Promise<string> {
      if (!isRecent()) await readShared()
      return cachedKeys!.keySet
    },
    async readAssertionKeySet(): Promise<string> {
      if (!isRecent()) await readShared()
      return cachedKeys!.assertionKeySet
    },
  }
}
