/**
 * Bounds the request bodies that are still arriving (§11.5): their bytes per caller and in the
 * process. A body that has arrived whole no longer counts. `receive-body.ts` reports the bytes.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'

const MIB = 1_048_576
const RETRY_AFTER_S = 1

export interface IngressBounds {
  /** All arriving bodies of a customer, or of an address without a credential. */
  readonly customerBytes: number
  /** All arriving bodies of the process. */
  readonly processBytes: number
  /** While the process is at its bound, bodies that began this long ago are cut. */
  readonly slowMs: number
}

const defaultIngressBounds: IngressBounds = {
  customerBytes: 8 * MIB,
  processBytes: 64 * MIB,
  slowMs: 1000,
}

interface ArrivingBody {
  /** The customer, or the address block of a caller without a credential. */
  readonly owner: string
  /** Rejects the request and drops its bytes. */
  readonly cut: () => void
}

export interface Ingress {
  /** Counts an arriving body, which has no bytes yet. */
  hold(body: ArrivingBody): BodyHold
  arrivingBytes(): number
}

export interface BodyHold {
  /** Counts more bytes. Returns false if they do not fit; cuts slow bodies before that. */
  grow(bytes: number): boolean
  /** Reports that the body has arrived, or that its bytes were dropped. */
  release(): void
}

interface CountedBody {
  readonly body: ArrivingBody
  readonly beganMs: number
  bytes: number
}

export const tooManyBodies = (): Failure =>
  new Failure('overloaded', 'Too many request bodies are arriving. Retry.', {
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
  let arrivingBytes = 0

  const count = (entry: CountedBody, bytes: number): void => {
    const { owner } = entry.body
    const ownerBytes = (bytesByOwner.get(owner) ?? 0) + bytes
    if (ownerBytes > 0) bytesByOwner.set(owner, ownerBytes)
    else bytesByOwner.delete(owner)
    entry.bytes += bytes
    arrivingBytes += bytes
  }
  const remove = (entry: CountedBody): void => {
    if (bodies.delete(entry)) count(entry, -entry.bytes)
  }
  const cutSlow = (except: CountedBody): void => {
    const latestMs = clock.elapsedMs() - bounds.slowMs
    for (const entry of bodies) {
      if (entry.beganMs > latestMs || arrivingBytes <= bounds.processBytes) return
      if (entry === except) continue
      remove(entry)
      entry.body.cut()
    }
  }

  return {
    hold(body) {
      const entry: CountedBody = { body, beganMs: clock.elapsedMs(), bytes: 0 }
      bodies.add(entry)
      return {
        grow(bytes) {
          if (!bodies.has(entry)) return false
          count(entry, bytes)
          // A single body always fits.
          const ownerBytes = bytesByOwner.get(body.owner)!
          let fits = ownerBytes === entry.bytes || ownerBytes <= bounds.customerBytes
          if (fits && arrivingBytes > bounds.processBytes) {
            cutSlow(entry)
            fits = arrivingBytes <= bounds.processBytes
          }
          if (!fits) remove(entry)
          return fits
        },
        release: () => remove(entry),
      }
    },
    arrivingBytes: () => arrivingBytes,
  }
}
