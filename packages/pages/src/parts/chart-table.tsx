/** The numbers of a chart as a table. */
import type { Series } from './chart-shapes.ts'

interface ChartTableProps {
  readonly title: string
  readonly series: readonly Series[]
  readonly times: readonly number[]
  readonly timeLabel: (ms: number) => string
  readonly format: (value: number) => string
}

export const ChartTable = ({ title, series, times, timeLabel, format }: ChartTableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard
  <section class="as-table" tabIndex={0} aria-label={`${title}, as a table`}>
    <table>
      <thead>
        <tr>
          <th scope="col">Time (UTC)</th>
          {series.map(({ name, label }) => (
            <th key={name} scope="col" class="n">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {times.map((ms, at) => (
          <tr key={ms}>
            <td>{timeLabel(ms)}</td>
            {series.map(({ name, values }) => (
              <td key={name} class="n">
                {values[at] === null || values[at] === undefined ? '–' : format(values[at])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
