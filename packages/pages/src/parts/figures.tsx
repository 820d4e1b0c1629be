/** Figures in a row: label, value, and a line that compares. */
import type { ComponentChildren } from 'preact'

export interface Figure {
  readonly label: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
  readonly href?: string | undefined
}

export const Figures = ({ figures }: { readonly figures: readonly Figure[] }) => (
  <dl class="figures">
    {figures.map(({ label, value, note, href }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>
          {href ? <a href={href}>{value}</a> : value}
          {note && <small>{note}</small>}
        </dd>
      </div>
    ))}
  </dl>
)
