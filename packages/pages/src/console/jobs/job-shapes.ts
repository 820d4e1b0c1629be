/** The states and kinds of jobs in words. Pure. */
import type { Tone } from '../../parts/state.tsx'
import type { Job } from './job-types.ts'

const STATES: Readonly<Record<string, readonly [Tone, string]>> = {
  waiting: ['idle', 'Waits'],
  running: ['hold', 'Runs'],
  done: ['ok', 'Done'],
  failed: ['bad', 'Failed'],
  canceled: ['idle', 'Canceled'],
}

/** Returns the state of a job in words; one that waits after an attempt waits for a retry. */
export function jobState({
  state,
  attempt,
}: Pick<Job, 'state' | 'attempt'>): readonly [Tone, string] {
  if (state === 'waiting' && attempt > 0) return ['warn', 'Waits for a retry']
  return STATES[state] ?? ['idle', state]
}

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
