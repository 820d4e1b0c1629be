/** The announcement of an ending version on each of its pages. Pure. */

import type { Brownout, Calendar, VersionState } from '../../declare/versions/calendar.ts'
import type { VersionChange } from '../../declare/versions/change.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Page } from './content.ts'

/** The part of a version's status that its pages contain. */
export interface VersionNotice {
  readonly version: string
  readonly state: VersionState
  readonly calendar: Calendar
  /** The changes between this version and its successor. */
  readonly changes: readonly VersionChange[]
}

const spanWords = ({ start, end }: Brownout): string => `${isoTime(start)} to ${isoTime(end)}`
const dayOf = (ms: number): string => isoTime(ms).slice(0, 10)

/** Returns the state in the list of versions: `ends 2027-12-01`; '' for a supported version. */
export function stateWords({ state, calendar }: VersionNotice): string {
  if (state === 'retired') return 'retired'
  if (state === 'supported') return ''
  return calendar.sunset_at === null ? 'deprecated' : `ends ${dayOf(calendar.sunset_at)}`
}

/** Returns the sentences of the notice; undefined for a supported version. */
export function noticeOf({ version, state, calendar }: VersionNotice): string | undefined {
  if (state === 'supported') return undefined
  const { sunset_at, successor, migration_guide, brownouts } = calendar
  const day = sunset_at === null ? undefined : dayOf(sunset_at)
  const sentences = [
    state === 'retired'
      ? `**Version ${version} is retired${day ? ` since ${day}` : ''}.** Its requests are 410.`
      : `**Version ${version} is deprecated${day ? ` and ends on ${day}` : ''}.**`,
    successor !== null && `Move to [${successor}](/docs/${successor}).`,
    migration_guide !== null && `[Migration guide](${migration_guide}).`,
    state === 'deprecated' &&
      brownouts.length > 0 &&
      `Brownouts: ${brownouts.map(spanWords).join(', ')}.`,
  ]
  return sentences.filter((sentence) => typeof sentence === 'string').join(' ')
}

/** Returns the sentence of the changelog on the end of a version; undefined without one. */
export function deprecationWords({ state, calendar }: VersionNotice): string | undefined {
  const { deprecated_at: from, sunset_at: end, successor } = calendar
  if (from === null && state !== 'retired') return undefined
  const words = [
    from !== null &&
      `${state === 'supported' ? 'Becomes deprecated' : 'Deprecated'} on ${dayOf(from)}`,
    end !== null && `${state === 'retired' ? 'retired' : 'ends'} on ${dayOf(end)}`,
    successor !== null && `its successor is [${successor}](/docs/${successor})`,
  ].filter((part) => typeof part === 'string')
  return `${words.join('; ')}.`
}

/** Returns the changes that concern a page: of its collection, else of all. */
export const changesFor = ({ changes }: VersionNotice, { collection, name }: Page): string[] => {
  if (collection === undefined && name !== '') return []
  return changes
    .filter(({ resource }) => collection === undefined || resource === collection)
    .map(({ resource, why }) => (collection === undefined ? `${resource}: ${why}` : why))
}
