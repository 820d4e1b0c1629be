/** Assembles the request limit, which the pipeline and the batches of resources apply. */
import { createQuota, type Quota } from '../quota/steps.ts'
import type { Foundation } from './foundation.ts'

export function assembleQuota({ config, db, clock }: Foundation): Quota {
  const { rateLimit: rate } = config
  return createQuota(db, clock, rate && { limit: rate.limit, windowMs: rate.windowS * 1000 })
}
