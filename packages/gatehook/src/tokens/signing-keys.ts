/**
 * The keys that sign access tokens (§4.6): ES256, sealed, rotated. A new one is published before
 * it signs, and kept until nothing it signed is good any more. Tokens are not made here.
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
import { type Actor, type AuditSigner, recordAudit } from '../audit/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import { isoTime } from '../kernel/time.ts'
import type { Database, Tx } from '../storage/database.ts'
import { headerOf } from './access-token.ts'
import * as store from './key-store.ts'

/** For so long others may keep the key set (`Cache-Control`). */
export const KEY_SET_MAX_AGE_S = 300
/** Twice that: whoever keeps the key set has the new key before anything is signed with it. */
const PUBLISHED_AHEAD_MS = 2 * KEY_SET_MAX_AGE_S * 1000
const DAY_MS = 86_400_000
const ROTATED_AFTER_MS = 90 * DAY_MS
/** The longest life of an access token that can be configured, and an hour for clocks. */
const KEPT_MS = DAY_MS + 3_600_000
/** A token may name a key made a moment ago elsewhere: looked for so often at most. */
const LOOK_EVERY_MS = 1_000

const generate = promisify(generateKeyPair)

/** RFC 7638 §3.2: the required members of an EC key in lexicographic order, no white space. */
function thumbprint({ crv, kty, x, y }: webcrypto.JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}

interface Sources {
  readonly vault: Vault
  readonly clock: Clock
}

async function newKey({ vault, clock }: Sources, aheadMs: number): Promise<store.SigningKeyRow> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' })
  const { d, ...shared } = privateKey.export({ format: 'jwk' })
  const kid = thumbprint(shared)
  const publicJwk = { ...shared, kid, use: 'sig', alg: 'ES256' }
  const now = clock.now()
  return {
    kid,
    public_jwk: JSON.stringify(publicJwk),
    sealed_private_jwk: vault.seal(store.SIGNING_PURPOSE, kid, JSON.stringify({ ...publicJwk, d })),
    created_at: now,
    signs_from: now + aheadMs,
  }
}

/** Makes the first key where there is none, to sign at once; gives the id of the newest. */
export async function ensureSigningKey(db: Database, sources: Sources): Promise<string> {
  const newest = (await store.allKeys(db)).at(-1)
  if (newest) return newest.kid
  const row = await newKey(sources, 0)
  await db.write(async (tx) => {
    if (await store.claimFirst(tx, row.kid)) await store.insertSigningKey(tx, row)
  })
  return (await store.allKeys(db)).at(-1)!.kid
}

export interface Signer {
  readonly kid: string
  readonly header: string
  readonly privateKey: KeyObject
}

/** The keys as this node knows them. */
export interface KeyRing {
  /** Reads them again. */
  load(): Promise<void>
  /** The key that signs now. */
  signer(): Signer | Promise<Signer>
  /** A public key of ours; reads again, once a second at most, when it is not known. */
  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>
  /** The key set as JSON text: keys that sign, will sign, or have signed. */
  published(): Promise<string>
  /** Publishes a new key. Throws 409 `invalid_state` while one is published that does not sign. */
  rotate(actor: Actor): Promise<{ readonly kid: string; readonly signs_from: string }>
  /** Does the same where the newest key has signed for 90 days; false where not. */
  rotateWhenDue(): Promise<boolean>
  /** Removes keys nothing good is signed with. */
  dropRetired(): Promise<number>
}

export interface KeyRingDeps extends Sources {
  readonly db: Database
  readonly random: Random
  readonly trail: AuditSigner
  /** Called in the transaction that adds a key, so that other nodes hear of it. */
  readonly announce: (tx: Tx, kid: string, now: number) => Promise<void>
}

interface Ring {
  readonly rows: readonly store.SigningKeyRow[]
  readonly publicKeys: ReadonlyMap<string, KeyObject>
  readonly published: string
  /** Of the vault when the rows were read: later, their private keys may not open. */
  readonly generation: number
}

/** Keys are read when first needed. */
export function keyRing(deps: KeyRingDeps): KeyRing {
  const { db, vault, clock } = deps
  const memory = ringMemory(deps)
  const signers = new Map<string, Signer>()
  const open = (row: store.SigningKeyRow): Signer => {
    let signer = signers.get(row.kid)
    if (!signer) {
      const jwk = vault.open(store.SIGNING_PURPOSE, row.kid, row.sealed_private_jwk).toString()
      const privateKey = createPrivateKey({ format: 'jwk', key: JSON.parse(jwk) })
      signer = { kid: row.kid, header: headerOf(row.kid), privateKey }
      signers.set(row.kid, signer)
    }
    return signer
  }
  const signing = ({ rows }: Ring): Signer => {
    const now = clock.now()
    return open(rows.findLast((row) => row.signs_from <= now) ?? rows[0]!)
  }
  const due = (newest: store.SigningKeyRow) => newest.signs_from + ROTATED_AFTER_MS <= clock.now()

  return {
    load: memory.load,
    signer() {
      const ring = memory.known()
      return ring instanceof Promise ? ring.then(signing) : signing(ring)
    },
    find: memory.find,
    published: memory.published,
    async rotate(actor) {
      const row = await addKey(deps, actor, (newest) => newest.signs_from <= clock.now())
      await memory.load()
      if (row) return { kid: row.kid, signs_from: isoTime(row.signs_from) }
      const { kid, signs_from } = (await memory.known()).rows.at(-1)!
      const message = `The key ${kid} is published already and signs from ${isoTime(signs_from)}.`
      throw new Failure('invalid_state', message)
    },
    async rotateWhenDue() {
      const newest = (await memory.known()).rows.at(-1)
      if (!newest || !due(newest)) return false
      const row = await addKey(deps, { kind: 'system', id: 'tokens' }, due)
      await memory.load()
      return row !== undefined
    },
    async dropRetired() {
      const dropped = await db.write((tx) => store.dropRetired(tx, clock.now() - KEPT_MS))
      if (dropped > 0) await memory.load()
      return dropped
    },
  }
}

/** One process at a time; `allowed` judges the newest key there is. Undefined: not now. */
async function addKey(
  deps: KeyRingDeps,
  actor: Actor,
  allowed: (newest: store.SigningKeyRow) => boolean,
): Promise<store.SigningKeyRow | undefined> {
  const row = await newKey(deps, PUBLISHED_AHEAD_MS)
  const added = await deps.db.write(async (tx) => {
    await store.lockKeys(tx)
    const newest = (await store.allKeys(tx)).at(-1)!
    if (!allowed(newest)) return false
    await store.insertSigningKey(tx, row)
    const detail = { signs_from: isoTime(row.signs_from), replaces: newest.kid }
    await recordAudit(tx, { actor, action: 'signing_key.rotate', target: row.kid, detail }, deps)
    await deps.announce(tx, row.kid, row.created_at)
    return true
  })
  return added ? row : undefined
}

/** What was read last, and when it is read again. */
function ringMemory({ db, clock, vault }: KeyRingDeps) {
  let ring: Ring | undefined
  let lookedMs = Number.NEGATIVE_INFINITY
  let flight: Promise<void> | undefined
  const read = async () => {
    const begunMs = clock.elapsedMs()
    const { generation } = vault
    ring = ringOf(await store.allKeys(db), generation)
    lookedMs = begunMs
  }
  /** One reading at a time, however many wait for it. */
  const shared = () => {
    flight ??= read().finally(() => {
      flight = undefined
    })
    return flight
  }
  const recent = () => clock.elapsedMs() - lookedMs < LOOK_EVERY_MS
  return {
    /** One that begins now: what runs already may have missed what is looked for. */
    async load() {
      await flight?.catch(() => undefined)
      await shared()
    },
    known: (): Ring | Promise<Ring> =>
      ring?.generation === vault.generation ? ring : shared().then(() => ring!),
    find(kid: string): ReturnType<KeyRing['find']> {
      const key = ring?.publicKeys.get(kid)
      if (key || recent()) return key
      return shared().then(() => ring?.publicKeys.get(kid))
    },
    async published(): Promise<string> {
      if (!recent()) await shared()
      return ring!.published
    },
  }
}

function ringOf(rows: readonly store.SigningKeyRow[], generation: number): Ring {
  const publicKeys = new Map<string, KeyObject>()
  for (const { kid, public_jwk } of rows) {
    publicKeys.set(kid, createPublicKey({ format: 'jwk', key: JSON.parse(public_jwk) }))
  }
  const published = `{"keys":[${rows.map((row) => row.public_jwk).join(',')}]}`
  return { rows, publicKeys, published, generation }
}
