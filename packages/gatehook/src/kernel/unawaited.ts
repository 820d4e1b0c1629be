/**
 * The rejected promises that no code of the process awaits. The code that waited for nothing may
 * have ended in part: a change of own code must not commit then, and work of the engine may have
 * ended for good.
 */
const reasons = new WeakSet<object>()
let total = 0

export const unawaited = {
  /** Notes the reason of a rejection, as the process reports it. */
  note(reason: unknown): void {
    total += 1
    if (reason instanceof Error) reasons.add(reason)
  },
  has: (reason: unknown): boolean => reason instanceof Error && reasons.has(reason),
  total: (): number => total,
}
