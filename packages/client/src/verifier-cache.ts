/**
 * The answers of a verifier, by hashes of the credential and of all inputs. Active answers and
 * refusals have maps of their own: strangers, who cause any number of refusals, evict each other.
 */
import type { Verification } from './verification.ts'

/** The hashes of a question: of its credential, and of all its inputs. */
export interface QuestionName {
  readonly credential: string
  readonly inputs: string
}

interface StoredAnswer {
  readonly answer: Verification
  /** Epoch milliseconds. */
  readonly at: number
}

interface VerifierCache {
  /** Returns an active answer that is younger than `activeMs`, or a refusal than `refusalMs`. */
  recall(name: QuestionName, activeMs: number, refusalMs: number): Verification | undefined
  /**
   * Stores an answer if `isKept`. A refusal that concerns the credential itself ends its active
   * answers in any case.
   */
  add(name: QuestionName, answer: Verification, isKept: boolean): void
  /** Deletes the active answers of a credential for all inputs. */
  end(credential: string): void
}

const MAX_ACTIVE = 10_000
/** Active answers of one credential, which may come from many addresses. */
const MAX_OF_CREDENTIAL = 1000
const MAX_REFUSALS = 10_000

/** These refusals concern the credential itself, and so all inputs. */
const ENDED: ReadonlySet<string> = new Set(['unknown', 'expired', 'revoked', 'suspended'])

export function createVerifierCache(now: () => number): VerifierCache {
  const active = new Map<string, Map<string, StoredAnswer>>()
  const refusals = new Map<string, StoredAnswer>()
  let activeCount = 0

  const end = (credential: string) => {
    activeCount -= active.get(credential)?.size ?? 0
    active.delete(credential)
  }
  const deleteActive = ({ credential, inputs }: QuestionName) => {
    const own = active.get(credential)
    if (!own?.delete(inputs)) return
    activeCount--
    if (own.size === 0) active.delete(credential)
  }
  const deleteOldest = (credential: string) => {
    const inputs = active.get(credential)!.keys().next().value!
    deleteActive({ credential, inputs })
  }
  const storeActive = ({ credential, inputs }: QuestionName, stored: StoredAnswer) => {
    const own = active.get(credential) ?? new Map<string, StoredAnswer>()
    // The credential that was stored longest ago comes first, and so do the inputs of each.
    active.delete(credential)
    active.set(credential, own)
    own.set(inputs, stored)
    activeCount++
    if (own.size > MAX_OF_CREDENTIAL) deleteOldest(credential)
    else if (activeCount > MAX_ACTIVE) deleteOldest(active.keys().next().value!)
  }

  /** An answer from the future expires: the clock was set back after it, by an unknown time. */
  const isYounger = (stored: StoredAnswer | undefined, limitMs: number): stored is StoredAnswer => {
    const ageMs = stored ? now() - stored.at : Number.POSITIVE_INFINITY
    return ageMs >= 0 && ageMs < limitMs
  }

  return {
    recall({ credential, inputs }, activeMs, refusalMs) {
      const refusal = refusals.get(inputs)
      if (isYounger(refusal, refusalMs)) return refusal.answer
      const stored = active.get(credential)?.get(inputs)
      if (!isYounger(stored, activeMs) || hasExpired(stored.answer, now())) return undefined
      return stored.answer
    },
    add(name, answer, isKept) {
      if (!answer.active && ENDED.has(answer.reason)) end(name.credential)
      if (!isKept) return
      const stored = { answer, at: now() }
      refusals.delete(name.inputs)
      deleteActive(name)
      if (answer.active) return storeActive(name, stored)
      refusals.set(name.inputs, stored)
      if (refusals.size > MAX_REFUSALS) refusals.delete(refusals.keys().next().value!)
    },
    end,
  }
}

const hasExpired = (answer: Verification, nowMs: number): boolean =>
  answer.active && answer.expires_at !== null && Date.parse(answer.expires_at) <= nowMs
