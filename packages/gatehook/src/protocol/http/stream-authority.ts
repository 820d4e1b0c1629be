/**
 * Verifies again what a caller may do while a request lasts (§3.10, §4.7): each second of an open
 * stream, and after each wait of a second, for a body or a turn. A revoked credential, an ended
 * session, a disabled person, a suspended customer and a lost scope end it.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { hasRole, type Principal } from '../../kernel/principal.ts'
import type { Call } from './call.ts'

const VERIFY_MS = 1000

/** Verifies the credential of a request again; undefined once it is no longer valid. */
export type IdentifyAgain = (call: Call) => Principal | undefined | Promise<Principal | undefined>

export interface StreamAuthority {
  /** The time by which callers are verified. */
  elapsedMs(): number
  /** Returns whether a caller that was verified at `verifiedMs` has to be verified again. */
  isOld(call: Pick<Call, 'principal'>, verifiedMs: number): boolean
  /** Verifies a caller. Returns why its request must not continue; undefined if it may. */
  findLoss(call: Call): Promise<string | undefined>
  /**
   * Calls `end` once the caller of a stream may no longer read it, or after `longestMs`. Returns
   * the function that ends the watch.
   */
  watch(call: Call, stream: WatchedStream): () => void
}

interface WatchedStream {
  readonly longestMs: number | undefined
  readonly end: () => void
}

interface AuthorityDeps {
  readonly identifyAgain: IdentifyAgain
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

const ENDED = 'the credential is no longer valid'
const NARROWED = 'the caller may do less than at the beginning'
const UNVERIFIED = 'the credential could not be verified'
const TOO_LONG = 'the longest time of the stream has passed'

export function createStreamAuthority({
  identifyAgain,
  clock,
  log,
}: AuthorityDeps): StreamAuthority {
  const elapsedMs = () => clock.elapsedMs()
  /** Returns why `first` may no longer do what it could; the call gets rights that it gained. */
  const findLossOf = async (call: Call, first: Principal): Promise<string | undefined> => {
    const current = await identifyAgain(call)
    if (!current) return ENDED
    if (!keepsRights(current, first)) return NARROWED
    if (!call.principal?.caller) call.principal = current
    return undefined
  }
  return {
    elapsedMs,
    isOld: ({ principal }, verifiedMs) =>
      principal !== undefined && elapsedMs() - verifiedMs >= VERIFY_MS,
    findLoss: async (call) => call.principal && findLossOf(call, callerOf(call.principal)),
    watch(call, { longestMs = Number.POSITIVE_INFINITY, end }) {
      const first = call.principal && callerOf(call.principal)
      const begunMs = elapsedMs()
      let isOpen = true
      const endFor = (reason: string) => {
        if (!isOpen) return
        log.info({ request_id: call.id, route: call.route, reason }, 'a stream was ended')
        stop()
        end()
      }
      const verify = async () => {
        if (elapsedMs() - begunMs >= longestMs) return endFor(TOO_LONG)
        const loss = await (first && findLossOf(call, first))?.catch((error: unknown) => {
          endFor(UNVERIFIED)
          throw error
        })
        if (loss !== undefined) endFor(loss)
      }
      const failure = `a stream was ended: ${UNVERIFIED}`
      const stopTimer = startInterval({ intervalMs: VERIFY_MS, run: verify, log, failure })
      const stop = () => {
        isOpen = false
        void stopTimer()
      }
      return stop
    },
  }
}

/** The principal that a credential yields: for an operator acting for a customer, the operator. */
const callerOf = (principal: Principal): Principal => principal.caller ?? principal

/**
 * Returns whether a caller may still do everything that it could do. The rows and fields that a
 * caller reaches follow from its scopes: `<collection>:all`, and those of `.visible()`.
 */
const keepsRights = (now: Principal, before: Principal): boolean =>
  now.scope === before.scope &&
  now.kind === before.kind &&
  now.subject === before.subject &&
  now.inPortal === before.inPortal &&
  now.thirdParty === before.thirdParty &&
  (before.role === undefined || hasRole(now, before.role)) &&
  before.scopes.isSubsetOf(now.scopes)
