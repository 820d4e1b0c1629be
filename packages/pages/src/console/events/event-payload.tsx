/** The payload of an event in each version, and the difference between two versions. */
import { useState } from 'preact/hooks'
import { number } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Copy } from '../../parts/copy.tsx'
import { Json } from '../../parts/json.tsx'
import { Empty, Part } from '../../parts/notices.tsx'
import { Segments } from '../../parts/segments.tsx'
import { useVersions } from '../versions.ts'
import type { EventDetail } from './event-shapes.ts'
import { lineDifference } from './line-difference.ts'

const DIFFERENCE = 'difference'

export function EventPayload({ event }: { readonly event: EventDetail }) {
  const versions = useVersions().map(({ version }) => version)
  const [selected, setSelected] = useState('')
  const newest = versions[0]
  const view = selected || newest || ''
  const isDifference = view === DIFFERENCE
  const base = `/admin/events/${event.id}/payload`
  const version = isDifference ? newest : view
  const payload = useLoaded<unknown>(version && `${base}?version=${version}`)
  const older = useLoaded<unknown>(isDifference ? `${base}?version=${versions.at(-1)}` : undefined)
  const text = payload.data === undefined ? '' : JSON.stringify(payload.data, null, 2)
  return (
    <section aria-labelledby="payload">
      <div class="bar">
        <h2 id="payload">Payload</h2>
        <div class="right">
          {versions.length > 1 && (
            <Segments
              label="Version of the payload"
              value={view}
              options={[
                ...versions.map((name) => [name, name] as const),
                [DIFFERENCE, 'Difference'],
              ]}
              onChange={setSelected}
            />
          )}
          <Copy text={text} subject="payload" />
        </div>
      </div>
      {event.data === null ? (
        <Empty title="The payload is purged">Payloads are stored for 30 days.</Empty>
      ) : (
        <Part of={payload} subject="the payload">
          {(body) =>
            isDifference ? (
              <Difference before={older.data} after={body} versions={versions} />
            ) : (
              <>
                <Json value={body} />
                <p class="hint">
                  {number(new TextEncoder().encode(JSON.stringify(body)).length)} bytes. Every
                  attempt sends the same bytes.
                </p>
              </>
            )
          }
        </Part>
      )}
    </section>
  )
}

interface DifferenceProps {
  readonly before: unknown
  readonly after: unknown
  readonly versions: readonly string[]
}

function Difference({ before, after, versions }: DifferenceProps) {
  if (before === undefined) return null
  const lines = lineDifference(JSON.stringify(before, null, 2), JSON.stringify(after, null, 2))
  if (lines.every(({ sign }) => sign === ' ')) {
    return (
      <p class="soft small">
        The payload is the same in {versions.at(-1)} and {versions[0]}.
      </p>
    )
  }
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls */}
      <pre class="wrap" tabIndex={0}>
        {lines.map(({ sign, text }, at) => {
          const line = `${sign} ${text}\n`
          if (sign === ' ') return line
          return sign === '+' ? (
            <ins key={`${at}${text}`}>{line}</ins>
          ) : (
            <del key={`${at}${text}`}>{line}</del>
          )
        })}
      </pre>
      <p class="hint">
        Lines with − are of {versions.at(-1)}, lines with + of {versions[0]}.
      </p>
    </>
  )
}
