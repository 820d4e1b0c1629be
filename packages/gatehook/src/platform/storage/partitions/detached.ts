/** Partitions that another program has detached: no statement finds their rows. Pure. */
import type { FoundPartition } from '../table-parts.ts'
import type { TimeTable } from './catalog.ts'
import { parsePartition } from './periods.ts'

/** Returns the statements that attach the tables that have names of partitions of a table. */
export function attachPartitions(
  table: TimeTable,
  partitions: readonly FoundPartition[],
): string[] {
  const { boundAt, timeOf } = table
  const attached = partitions.flatMap(({ table: parent, name, bound }) =>
    parent === table.name && bound !== null ? parsePartition(name, bound) : [],
  )
  const detached = partitions.filter(({ table: parent, bound }) => parent === table.name && !bound)
  const starts = [
    ...attached.map(({ from }) => (from === undefined ? PAST : timeOf(from))),
    ...detached.map(({ name }) => startOf(name)),
  ].sort((a, b) => a - b)
  /** The partition `future` begins where the last period ends. */
  const lastEnd = Math.max(...attached.map(({ to }) => (to === undefined ? PAST : timeOf(to))))
  return detached.map(({ name }) => {
    const start = startOf(name)
    const end = starts.find((other) => other > start) ?? FUTURE
    const from = start === PAST ? 'MINVALUE' : `'${boundAt(start === FUTURE ? lastEnd : start)}'`
    const to = end === FUTURE ? 'MAXVALUE' : `'${boundAt(end)}'`
    return `ALTER TABLE ${table.name} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`
  })
}

const PAST = Number.NEGATIVE_INFINITY
const FUTURE = Number.POSITIVE_INFINITY

/** Returns the start that the name says; a period begins with a day. */
function startOf(name: string): number {
  const [, part] = /_(past|future|\d{8})$/.exec(name)!
  if (part === 'past') return PAST
  return part === 'future' ? FUTURE : Date.parse(part!.replace(/(..)(..)$/, '-$1-$2'))
}
