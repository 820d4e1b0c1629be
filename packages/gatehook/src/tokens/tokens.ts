/** The room put together: `createTokens` gives what `grant.ts` promises, and the loop around it. */

import type { AuditSigner } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Lister } from '../lists/list.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { TokenLookup, Tokens } from './grant.ts'
import type { Lives } from './issue.ts'
import { createRevocations, NOTICE_KEPT_MS } from './revocations.ts'
import { tokenRoutes } from './routes.ts'
import { createSessions } from './sessions.ts'
import { keyRing } from './signing-keys.ts'
import * as store from './store.ts'
import { createVerifier } from './verifier.ts'

const EVERY_MS = 1_000
/** The longest grace that can be configured. */
const MAX_GRACE_MS = 60_000
/** Other nodes' clocks may be behind. */
const SKEW_MS = 60_000

export interface TokenDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly trail: AuditSigner
  readonly vault: Vault
  readonly log: Log
  readonly record: RecordEvent
  readonly lookup: TokenLookup
  /** With `/auth/logout-all`: whatever else a person is signed in with. */
  readonly alsoEnd?: (tx: Tx, scope: Scope, subject: string) => Promise<unknown>
  readonly list: Lister
  readonly lives: Lives
  readonly issuer: () => string
  readonly audience: () => string
}

/** Needs a signing key to be there (`ensureSigningKey`). Nothing runs before `start`. */
export function createTokens(deps: TokenDeps): Tokens & { tick(): Promise<void> } {
  const { db, clock, log, issuer, audience } = deps
  const revocations = createRevocations({
    db,
    clock,
    onHeard(kind, value) {
      if (kind === 'customer' || kind === 'client_changed') verifier.forget(value)
      if (kind === 'signing_key') lookAtKeys()
    },
    onGap: () => verifier.forget(),
  })
  const keys = keyRing({
    ...deps,
    announce: (tx, kid, now) => revocations.announce(tx, 'signing_key', kid, now + NOTICE_KEPT_MS),
  })
  const verifier = createVerifier({
    clock,
    keys,
    revocations,
    expected: () => ({ issuer: issuer(), audience: audience() }),
    customer: deps.lookup.customer,
    clientPermissions: deps.lookup.clientPermissions,
  })
  const { read, isLive, scopesOf } = verifier
  const sessions = createSessions({ ...deps, keys, revocations })
  const revokeToken: Tokens['revokeToken'] = (tx, { jti, exp }) =>
    revocations.announce(tx, 'token', jti, exp * 1000)
  const tick = async () => {
    await revocations.poll()
    await keys.rotateWhenDue()
  }
  const loop = loopOf(tick, log)
  const lookAtKeys = () => loop.beside(keys.load(), 'signing keys could not be read')

  return {
    ...sessions,
    verify: verifier.verify,
    read,
    isLive,
    scopesOf,
    clientChanged: (tx, id) =>
      revocations.announce(tx, 'client_changed', id, clock.now() + NOTICE_KEPT_MS),
    revokeToken,
    isRevoked: revocations.isRevoked,
    rotateSigning: keys.rotate,
    routes: tokenRoutes({
      ...deps,
      keys,
      tokens: { ...sessions, read, revokeToken, isRevoked: revocations.isRevoked },
    }),
    chores: {
      sessions: () => purgeSessions(db, clock.now()),
      revocations: revocations.purge,
      signing_keys: keys.dropRetired,
    },
    tick,
    start: loop.start,
    stop: loop.stop,
  }
}

/** Expired sessions, and successors that may not be told again. */
async function purgeSessions(db: Database, now: number): Promise<number> {
  await db.write((tx) => store.forgetSuccessors(tx, now - MAX_GRACE_MS - SKEW_MS))
  return store.purgeSessions(db, now - SKEW_MS)
}

/** Ticks once and then each second. A silence is told once, not each second. */
function loopOf(tick: () => Promise<void>, log: Log) {
  const running = new Set<Promise<void>>()
  let stopTimer: (() => Promise<void>) | undefined
  let silent = false
  const beside = (work: Promise<unknown>, what: string) => {
    const done = work
      .then(
        () => true,
        (error: unknown) => {
          if (!silent) log.warn({ err: error }, what)
          return false
        },
      )
      .then((well) => {
        silent = !well
        running.delete(done)
      })
    running.add(done)
    return done
  }
  const round = () => beside(tick(), 'revocations could not be read; the database is asked instead')
  return {
    beside,
    async start() {
      if (stopTimer) return
      await round()
      stopTimer = startInterval({
        intervalMs: EVERY_MS,
        run: async () => void (running.size === 0 && (await round())),
        log,
        failure: 'revocations could not be read',
      })
    },
    async stop() {
      await stopTimer?.()
      stopTimer = undefined
      while (running.size > 0) await Promise.all(running)
    },
  }
}
