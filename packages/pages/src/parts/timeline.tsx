/** Dates in their order as a line: past, now, to come, the end. */
import type { ComponentChildren } from 'preact'

export interface TimelineEntry {
  readonly kind: 'past' | 'now' | 'next' | 'end'
  /** The words of the date: `30 Jun 2027`, `No end`. */
  readonly date: string
  readonly text: ComponentChildren
}

export const Timeline = ({ entries }: { readonly entries: readonly TimelineEntry[] }) => (
  <ol class="timeline">
    {entries.map(({ kind, date, text }, at) => (
      <li key={at} class={kind}>
        <span class="date">{date}</span>
        <span>{text}</span>
      </li>
    ))}
  </ol>
)
