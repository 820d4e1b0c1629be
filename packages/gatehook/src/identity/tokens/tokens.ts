/** Composes the module: `createTokens` implements `api.ts` and reads the revocation feed. */

import type { AuditSigner } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { createBackgroundTasks } from '../../kernel/background.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { TokenLifetimes } from './access-token.ts'
import type { EndAccessOf, TokenLookup, Tokens } from './api.ts'
import { createAssertionSigner } from './assertion.ts'
import type { Audiences } from './audience.ts'
import { createRevocationFeed, NOTICE_RETENTION_MS } from './revocation-feed.ts'
import { type TokenRouteDeps, tokenRoutes } from './routes.ts'
import { createSessions } from './sessions.ts'
import { createKeyRing } from './signing-keys.ts'
import * as store from './store.ts'
import * as tables from './tables.ts'
import { createVerifier } from './verifier.ts'

/** The longest grace period that can be configured. */
const MAX_GRACE_MS = 60_000
/** The largest clock difference between nodes that purging tolerates. */
const SKEW_MS = 60_000

interface TokenDeps extends Pick<TokenRouteDeps, 'signOutEverywhere'> {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly vault: Vault
  readonly log: Log
  readonly record: RecordEvent
  readonly endGivenAccess: EndAccessOf
  readonly lookup: TokenLookup
  readonly list: Lister
  /** When the data of the installation was restored; undefined: never. */
  readonly restoredMs: () => number | undefined
  readonly lifetimes: TokenLifetimes
  readonly issuer: () => string
  readonly audiences: Audiences
}

/**
 * Creates the module over a database with a signing key (`ensureSigningKey`). `tick` is one round
 * of the work that the poll of a node causes.
 */
export function createTokens(deps: TokenDeps): Tokens & { tick(): Promise<void> } {
  const { db, clock, random, trail, vault, log, lookup, list } = deps
  const { issuer, audiences } = deps
  const reloads = createBackgroundTasks(log)
  const customerListeners: ((id: string) => void)[] = []
  const revocations = createRevocationFeed({
    db,
    clock,
    onEntry(kind, value) {
      if (kind === 'customer' || kind === 'client_changed') {
        verifier.evict(value === 'all' ? undefined : value)
      }
      if (kind === 'customer') for (const listener of customerListeners) listener(value)
      if (kind === 'signing_key') reloadKeys()
    },
    onGap() {
      verifier.evict()
      reloadKeys()
    },
  })
  /** Cached tokens can have been verified with a key that was deleted. */
  const reloadKeys = () =>
    reloads.add(keys.reload().then(verifier.dropTokens), 'signing keys could not be read')
  const { isRevoked } = revocations
  const publishNotice = (tx: Tx, kind: 'signing_key' | 'client_changed', id: string) =>
    revocations.publish(tx, kind, id, clock.now() + NOTICE_RETENTION_MS)
  const publishKey = (tx: Tx, kid: string) => publishNotice(tx, 'signing_key', kid)
  const keys = createKeyRing({ db, clock, random, trail, vault, publishKey })
  const verifier = createVerifier({ clock, keys, revocations, lookup, issuer, audiences })
  const sessions = createSessions({ ...deps, keys, revocations })
  const revokeAccessToken: Tokens['revokeAccessToken'] = (tx, { jti, exp }) =>
    revocations.publish(tx, 'token', jti, exp * 1000)
  const operations = { ...sessions, ...verifier, revokeAccessToken, isRevoked }
  const tick = async () => {
    await revocations.poll()
    await keys.rotateIfDue()
  }

  return {
    ...operations,
    audiences,
    signAssertion: createAssertionSigner({ keys, clock, random, issuer }),
    onCustomerChange: (listener) => void customerListeners.push(listener),
    publishClientChange: (tx, _scope, id) => publishNotice(tx, 'client_changed', id),
    rotateSigningKey: keys.rotate,
    replaceSigningKeys: keys.replace,
    routes: tokenRoutes({
      db,
      clock,
      random,
      trail,
      list,
      lookup,
      keys,
      signOutEverywhere: deps.signOutEverywhere,
      tokens: operations,
    }),
    chores: {
      async sessions() {
        const now = clock.now()
        await db.write((tx) => store.purgeSuccessors(tx, now - MAX_GRACE_MS - SKEW_MS), {
          single: true,
        })
        return purgeExpired(db, [tables.sessions], now - SKEW_MS)
      },
      used_once: () => purgeExpired(db, [tables.usedOnce], clock.now() - SKEW_MS),
      revocations: revocations.purge,
      signing_keys: keys.purge,
    },
    nodeChores: ['revocations', 'signing_keys'],
    tick,
    polled: [
      {
        select: revocations.polled.select,
        async receive(value, begunMs) {
          await revocations.polled.receive(value, begunMs)
          await keys.rotateIfDue()
        },
      },
    ],
    start: () =>
      tick().catch((err: unknown) =>
        log.warn({ err }, 'the revocation feed could not be read; checks query the database'),
      ),
    stop: reloads.idle,
  }
}
