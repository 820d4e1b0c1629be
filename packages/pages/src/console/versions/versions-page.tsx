/** Versions: traffic, the calendar and changes of each version, and the callers of the oldest. */
import { useState } from 'preact/hooks'
import { slowNow } from '../../clock.ts'
import { day } from '../../format.ts'
import { lazy } from '../../lazy.tsx'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Empty, Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { Timeline, type TimelineEntry } from '../../parts/timeline.tsx'
import { href, type PageProps } from '../../router.ts'
import type { Page as ListPage } from '../api-shapes.ts'
import { mayChange } from '../session.ts'
import { Callers } from './version-callers.tsx'
import { Changes } from './version-changes.tsx'
import { Traffic } from './version-chart.tsx'
import type { Operation } from './version-operations.tsx'
import {
  brownoutWords,
  type CalendarDate,
  datesOf,
  moveLabel,
  type VersionDetail,
  versionState,
} from './version-shapes.ts'

const { Lazy: VersionOperation, prefetch } = lazy(() =>
  import('./version-operations.tsx').then((module) => module.VersionOperation),
)

const EVERY_MS = 15_000

const numberOf = ({ version }: VersionDetail): number => Number(version.slice(1))

/** The version whose callers matter: the oldest deprecated one, otherwise the oldest served. */
const endingOf = (rows: readonly VersionDetail[]): VersionDetail | undefined =>
  rows.findLast(({ state }) => state === 'deprecated') ??
  rows.findLast(({ state }) => state !== 'retired')

export function Page({ params }: PageProps) {
  const list = useLoaded<ListPage<VersionDetail>>('/admin/versions', { everyMs: EVERY_MS })
  const [open, setOpen] = useState<{ operation: Operation; version: string }>()
  const rows = [...(list.data?.data ?? [])].sort((a, b) => numberOf(b) - numberOf(a))
  const selected = params.id ? rows.find(({ version }) => version === params.id) : endingOf(rows)
  const isChangeable = mayChange('administrator')
  return (
    <Screen
      title={params.id ?? 'Versions'}
      crumbs={params.id ? [{ label: 'Versions', href: href('/console/versions') }] : []}
    >
      <Traffic rows={rows} />
      <Part of={list} subject="versions">
        {() => (
          <>
            <div class="section cols">
              {rows.map((row, at) => (
                <VersionCalendar
                  key={row.version}
                  row={row}
                  isNewest={at === 0}
                  isOldest={at === rows.length - 1}
                  onSelect={(operation) => setOpen({ operation, version: row.version })}
                />
              ))}
            </div>
            {params.id && !selected && (
              <Empty title={`The service has no version ${params.id}`}>
                <a href={href('/console/versions')}>All versions</a>
              </Empty>
            )}
            {rows.length === 1 && <OneVersion row={rows[0]!} />}
            {selected && (rows.length > 1 || params.id) && (
              <Callers
                key={selected.version}
                row={selected}
                onRetire={
                  isChangeable
                    ? () =>
                        setOpen({
                          operation: selected.state === 'deprecated' ? 'move' : 'deprecate',
                          version: selected.version,
                        })
                    : undefined
                }
              />
            )}
          </>
        )}
      </Part>
      {open && (
        <VersionOperation
          {...open}
          others={rows.map(({ version }) => version).filter((name) => name !== open.version)}
          onClose={() => setOpen(undefined)}
          onDone={list.reload}
        />
      )}
    </Screen>
  )
}

const OneVersion = ({ row: { version } }: { readonly row: VersionDetail }) => (
  <Empty title="The service has a single version">
    <p>
      A change that breaks callers needs another version. Declare it in <code>versions</code>, and
      the earlier form of each member with <code>.before()</code>. Callers of {version} then keep
      its shape.
    </p>
    <a href={`/docs/${version}`}>Documentation</a>
  </Empty>
)

interface VersionCalendarProps {
  readonly row: VersionDetail
  readonly isNewest: boolean
  readonly isOldest: boolean
  readonly onSelect: (operation: Operation) => void
}

const BUTTONS = {
  supported: [['deprecate', 'Deprecate…']],
  deprecated: [
    ['move', 'Move the end…'],
    ['brownout', 'Announce a brownout…'],
    ['withdraw', 'Take back…'],
    ['retire', 'Retire now…'],
  ],
  retired: [['withdraw', 'Take back…']],
} as const

function VersionCalendar({ row, isNewest, isOldest, onSelect }: VersionCalendarProps) {
  const { version } = row
  const [tone, words] = versionState(row, slowNow().value)
  return (
    <section aria-labelledby={`version-${version}`}>
      <div class="bar">
        <h2 id={`version-${version}`}>
          <a class="mono" href={href(`/console/versions/${version}`)}>
            {version}
          </a>
        </h2>
        <State tone={tone}>{isNewest && tone === 'ok' ? `${words}, the newest` : words}</State>
        <div class="right">
          <a class="small" href={`/docs/${version}`}>
            Documentation
          </a>
        </div>
      </div>
      <Timeline entries={entriesOf(row, slowNow().value)} />
      {mayChange('administrator') && (
        <div class="bar" onPointerEnter={prefetch}>
          {BUTTONS[row.state].map(([operation, label]) => (
            <Button
              key={operation}
              size="tiny"
              kind={operation === 'retire' ? 'danger' : 'plain'}
              onClick={() => onSelect(operation)}
            >
              {operation === 'move' ? moveLabel(row) : label}
            </Button>
          ))}
        </div>
      )}
      {!isOldest && <Changes version={version} />}
    </section>
  )
}

function entriesOf(row: VersionDetail, nowMs: number): readonly TimelineEntry[] {
  const entries = datesOf(row, nowMs).map(
    (date): TimelineEntry => ({
      kind: kindOf(date),
      date: day(date.at),
      text: textOf(date, row),
    }),
  )
  if (row.sunset_at) return entries
  return [...entries, { kind: 'next', date: 'No end', text: 'An end needs six months of notice.' }]
}

function kindOf({ kind, isPast }: CalendarDate): TimelineEntry['kind'] {
  if (kind === 'today') return 'now'
  if (kind === 'sunset') return 'end'
  return isPast ? 'past' : 'next'
}

function textOf({ kind, isPast, brownout }: CalendarDate, row: VersionDetail) {
  const { successor, migration_guide: guide } = row
  switch (kind) {
    case 'released':
      return 'released'
    case 'deprecated':
      return `deprecated${successor ? `; callers move to ${successor}` : ''}`
    case 'brownout':
      return `brownout, ${brownoutWords(brownout!)}`
    case 'today':
      return 'today'
    case 'sunset':
      return (
        <>
          {isPast ? 'retired' : 'sunset'}: every request gets 410
          {guide && (
            <>
              .{' '}
              <a href={guide} rel="noreferrer" target="_blank">
                Migration guide
              </a>
            </>
          )}
        </>
      )
  }
}
