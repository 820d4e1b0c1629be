/** Finds mistakes in the declaration of background work, also those of plain JavaScript. Pure. */

import { closestClause } from '../../kernel/closest.ts'
import { ATTEMPTS_MAX, TIMEOUT_MAX_MS } from '../../platform/jobs/job.ts'
import { parseSchedule } from '../../platform/jobs/schedule.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { containsSecret } from '../../protocol/fields/secret-names.ts'
import { findUnsentFields } from './body-check.ts'
import type { JobDefinition } from './job.ts'

const NAME = /^[a-z][a-z0-9_.-]{0,99}$/
/** A fixed instant: whether an expression is ever due does not depend on the clock. */
const REFERENCE_MS = Date.UTC(2026, 0, 1)

const words: Readonly<Record<JobDefinition['kind'], string>> = {
  job: '.job',
  event: '.on',
  schedule: '.every',
}

/**
 * Returns a sentence for the developer per mistake.
 *
 * @param eventTypes every type that the service and the engine emit
 */
export function findJobMistakes(
  jobs: readonly JobDefinition[],
  eventTypes: ReadonlySet<string>,
): string[] {
  return jobs.flatMap((job, index) => {
    const mistakes = [...memberMistakes(job), ...triggerMistakes(job, eventTypes)]
    if (jobs.slice(0, index).some(({ name }) => name === job.name)) {
      mistakes.push(
        job.kind === 'event'
          ? `a job has this name; name this handler: .on('${job.trigger}', handle, { name })`
          : 'the name is declared twice',
      )
    }
    return mistakes.map((mistake) => `${words[job.kind]} ${String(job.name)}: ${mistake}`)
  })
}

function memberMistakes({ name, input, attempts, timeoutMs, handle }: JobDefinition): string[] {
  const mistakes = [
    ...Object.entries(input).flatMap(([field, spec]) => inputMistakes(field, spec)),
    ...findUnsentFields(input).map((mistake) => `input: ${mistake}`),
  ]
  if (typeof name !== 'string' || !NAME.test(name)) mistakes.push('names look like send_receipt')
  if (typeof handle !== 'function') mistakes.push('the handler is a function')
  if (!isWithin(attempts, ATTEMPTS_MAX)) mistakes.push(`attempts is from 1 to ${ATTEMPTS_MAX}`)
  if (!isWithin(timeoutMs, TIMEOUT_MAX_MS)) {
    mistakes.push(`timeoutMs is from 1 to ${TIMEOUT_MAX_MS}`)
  }
  return mistakes
}

const isWithin = (value: number, max: number): boolean =>
  Number.isInteger(value) && value >= 1 && value <= max

function inputMistakes(name: string, spec: FieldSpec | undefined): string[] {
  if (spec === undefined) return [`input: ${name} is not a field, for example f.string()`]
  if (containsSecret(spec)) return [`input: ${name} is secret, and inputs are stored as they are`]
  return []
}

function triggerMistakes(
  { kind, trigger = '', timeZone, each }: JobDefinition,
  eventTypes: ReadonlySet<string>,
): string[] {
  if (kind === 'event' && !eventTypes.has(trigger)) {
    const name = String(trigger)
    return [`there is no event ${name}${closestClause(name, [...eventTypes])}`]
  }
  if (kind !== 'schedule') return []
  const schedule = parseSchedule(String(trigger), REFERENCE_MS, timeZone)
  return [
    ...(typeof schedule === 'string' ? [schedule] : []),
    ...(each === undefined || each === 'customer' ? [] : ["each is 'customer'"]),
  ]
}
