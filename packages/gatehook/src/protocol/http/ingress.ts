/**
 * Bounds the request bodies of open requests (§11.5): their bytes and parsed values, per caller and
 * in the process, until the response has ended. `receive-body.ts` reports them.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'

const MIB = 1_048_576
const RETRY_AFTER_S = 1

export interface IngressBounds {
  /** All bodies of a customer, or of an address without a credential. */
  readonly customerBytes: number
  /** All bodies of the process. */
  readonly processBytes: number
  /** While the process is at its bound, bodies that arrive for this long are cut. */
  readonly slowMs: number
}

const defaultIngressBounds: IngressBounds = {
  customerBytes: 8 * MIB,
  processBytes: 64 * MIB,
  slowMs: 1000,
}

interface HeldBody {
  /** The customer, or the address block of a caller without a credential. */
  readonly owner: string
  /** Rejects the request and drops its bytes. */
  readonly cut: () => void
}

export interface Ingress {
  /** Counts a body, which has no bytes yet. */
  hold(body: HeldBody): BodyHold
  heldBytes(): number
}

export interface BodyHold {
  /** Counts more bytes. Returns false if they do not fit; cuts slow bodies before that. */
  grow(bytes: number): boolean
  /** Reports that the body has arrived: it is no longer cut. */
  complete(): void
  /** Reports that the request has ended, or that the bytes were dropped. */
  release(): void
}

interface CountedBody {
  readonly body: HeldBody
  readonly beganMs: number
  hasArrived: boolean
  bytes: number
}

export const tooManyBodies = (): Failure =>
  new Failure('overloaded', 'Too many request bodies are open. Retry.', {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })

export function createIngress(
  clock: Pick<Clock, 'elapsedMs'>,
  customBounds: Partial<IngressBounds> = {},
): Ingress {
  const bounds = { ...defaultIngressBounds, ...customBounds }
  /** Oldest first. */
  const bodies = new Set<CountedBody>()
  const bytesByOwner = new Map<string, number>()
  let heldBytes = 0

  const count = (entry: CountedBody, bytes: number): void => {
    const { owner } = entry.body
    const ownerBytes = (bytesByOwner.get(owner) ?? 0) + bytes
    if (ownerBytes > 0) bytesByOwner.set(owner, ownerBytes)
    else bytesByOwner.delete(owner)
    entry.bytes += bytes
    heldBytes += bytes
  }
  const remove = (entry: CountedBody): void => {
    if (bodies.delete(entry)) count(entry, -entry.bytes)
  }
  const cutSlow = (except: CountedBody): void => {
    const latestMs = clock.elapsedMs() - bounds.slowMs
    for (const entry of bodies) {
      if (entry.beganMs > latestMs || heldBytes <= bounds.processBytes) return
      if (entry === except || entry.hasArrived) continue
      remove(entry)
      entry.body.cut()
    }
  }

  return {
    hold(body) {
      const entry: CountedBody = { body, beganMs: clock.elapsedMs(), hasArrived: false, bytes: 0 }
      bodies.add(entry)
      return {
        grow(bytes) {
          if (!bodies.has(entry)) return false
          count(entry, bytes)
          // A single body always fits.
          const ownerBytes = bytesByOwner.get(body.owner)!
          let fits = ownerBytes === entry.bytes || ownerBytes <= bounds.customerBytes
          if (fits && heldBytes > bounds.processBytes) {
            cutSlow(entry)
            fits = heldBytes <= bounds.processBytes
          }
          if (!fits) remove(entry)
          return fits
        },
        complete() {
          entry.hasArrived = true
        },
        release: () => remove(entry),
      }
    },
    heldBytes: () => heldBytes,
  }
}
