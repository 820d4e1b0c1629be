/** The kinds of jobs in words, and their operations. Pure. */
import type { Job } from './job-types.ts'

const KINDS: Readonly<Record<string, string>> = {
  job: 'enqueued by code',
  event: 'handles an event',
  schedule: 'recurring',
  fill: 'completes rows',
  index: 'changes an index',
}

export const kindWords = (kind: string): string => KINDS[kind] ?? kind

export const canRetry = ({ state }: Pick<Job, 'state'>): boolean =>
  state === 'failed' || state === 'canceled' || state === 'waiting'

/** A recurring job ends with its declaration. */
export const canCancel = ({ state, kind }: Pick<Job, 'state' | 'kind'>): boolean =>
  state === 'waiting' && kind !== 'schedule'
