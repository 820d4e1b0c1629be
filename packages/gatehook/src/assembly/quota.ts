/** Assembles the request limit, which the pipeline and the batches of resources apply. */
import { createQuota, type Quota } from '../protocol/quota/steps.ts'
import type { Foundation } from './foundation.ts'

export function assembleQuota({ config, db, clock, primaryFault }: Foundation): Quota {
  const { rateLimit } = config
  const rate = rateLimit && { limit: rateLimit.limit, windowMs: rateLimit.windowS * 1000 }
  return createQuota({ db, clock, rate, isPrimaryAway: () => primaryFault() !== undefined })
}
