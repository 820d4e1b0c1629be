/** Composes the module: `createTokens` implements `api.ts` and polls the revocation feed. */
import type { AuditSigner } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import { createBackgroundTasks } from '../kernel/background.ts'
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Lister } from '../lists/list.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { TokenLifetimes } from './access-token.ts'
import type { TokenLookup, Tokens } from './api.ts'
import {
  createRevocationFeed,
  NOTICE_RETENTION_MS,
  type RevocationFeed,
} from './revocation-feed.ts'
import { type TokenRouteDeps, tokenRoutes } from './routes.ts'
import { createSessions } from './sessions.ts'
import { createKeyRing, type KeyRing } from './signing-keys.ts'
import * as store from './store.ts'
import { createVerifier } from './verifier.ts'

const POLL_INTERVAL_MS = 1_000
const FAILURE = 'the revocation feed could not be read; checks query the database'
/** The longest grace period that can be configured. */
const MAX_GRACE_MS = 60_000
/** The largest clock difference between nodes that purging tolerates. */
const SKEW_MS = 60_000

interface TokenDeps extends Pick<TokenRouteDeps, 'endSignIns'> {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly vault: Vault
  readonly log: Log
  readonly record: RecordEvent
  readonly lookup: TokenLookup
  readonly list: Lister
  readonly lifetimes: TokenLifetimes
  readonly issuer: () => string
  readonly audience: () => string
}

/**
 * Creates the module over a database with a signing key (`ensureSigningKey`). It does no background
 * work before `start`; `tick` is one round of that work.
 */
export function createTokens(deps: TokenDeps): Tokens & { tick(): Promise<void> } {
  const { db, clock, random, trail, vault, log, record, lookup, list } = deps
  const { lifetimes, issuer, audience } = deps
  const revocations = createRevocationFeed({
    db,
    clock,
    onEntry(kind, value) {
      if (kind === 'customer' || kind === 'client_changed') verifier.evict(value)
      if (kind === 'signing_key') poller.reloadKeys()
    },
    onGap: () => verifier.evict(),
  })
  const { isRevoked } = revocations
  const publishNotice = (tx: Tx, kind: 'signing_key' | 'client_changed', id: string) =>
    revocations.publish(tx, kind, id, clock.now() + NOTICE_RETENTION_MS)
  const publishKey = (tx: Tx, kid: string) => publishNotice(tx, 'signing_key', kid)
  const keys = createKeyRing({ db, clock, random, trail, vault, publishKey })
  const expectedClaims = () => ({ issuer: issuer(), audience: audience() })
  const verifier = createVerifier({ clock, keys, revocations, lookup, expectedClaims })
  const { verifyAccessToken, readAccessToken, isActive, resolveScopes } = verifier
  const sessions = createSessions({
    db,
    clock,
    random,
    trail,
    vault,
    record,
    lookup,
    lifetimes,
    issuer,
    audience,
    keys,
    revocations,
  })
  const revokeAccessToken: Tokens['revokeAccessToken'] = (tx, { jti, exp }) =>
    revocations.publish(tx, 'token', jti, exp * 1000)
  const operations = { ...sessions, readAccessToken, revokeAccessToken, isRevoked }
  const poller = createPoller(revocations, keys, log)

  return {
    ...operations,
    verifyAccessToken,
    isActive,
    resolveScopes,
    publishClientChange: (tx, id) => publishNotice(tx, 'client_changed', id),
    rotateSigningKey: keys.rotate,
    routes: tokenRoutes({
      db,
      clock,
      random,
      trail,
      list,
      lookup,
      keys,
      endSignIns: deps.endSignIns,
      tokens: operations,
    }),
    chores: {
      async sessions() {
        const now = clock.now()
        await db.write((tx) => store.purgeSuccessors(tx, now - MAX_GRACE_MS - SKEW_MS), {
          single: true,
        })
        return store.purgeSessions(db, now - SKEW_MS)
      },
      revocations: revocations.purge,
      signing_keys: keys.purge,
    },
    nodeChores: ['revocations', 'signing_keys'],
    tick: poller.tick,
    start: poller.start,
    stop: poller.stop,
  }
}

/** Polls the feed and rotates keys each second. Of a series of failures it logs the first. */
function createPoller(revocations: RevocationFeed, keys: KeyRing, log: Log) {
  const reloads = createBackgroundTasks(log)
  let isFailing = false
  let stopInterval: (() => Promise<void>) | undefined
  const tick = async () => {
    await revocations.poll()
    await keys.rotateIfDue()
  }
  const run = async () => {
    try {
      await tick()
      isFailing = false
    } catch (err) {
      if (!isFailing) log.warn({ err }, FAILURE)
      isFailing = true
    }
  }
  return {
    tick,
    reloadKeys: () => reloads.add(keys.reload(), 'signing keys could not be read'),
    async start() {
      if (stopInterval) return
      await run()
      stopInterval = startInterval({ intervalMs: POLL_INTERVAL_MS, run, log, failure: FAILURE })
    },
    async stop() {
      await stopInterval?.()
      stopInterval = undefined
      await reloads.idle()
    },
  }
}
