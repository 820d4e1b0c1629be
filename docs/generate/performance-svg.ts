/**
 * Draws each figure divided by its target, on a logarithmic axis: 1 is the target, and better is
 * to the right. No script, no font, no other file. Pure.
 */
import { type Figure, isReached } from '../../bench/figures.ts'

const WIDTH_PX = 900
const LABEL_PX = 430
const MARGIN_PX = 16
const ROW_PX = 20
const HEAD_PX = 58
/** The ends of the axis, as multiples of the target. */
const [LEAST, MOST] = [0.25, 16]
const TICKS = [0.25, 0.5, 1, 2, 4, 8, 16]
const LABEL_CHARACTERS = 62

const STYLE = `text{font:12px system-ui,sans-serif;fill:#1f2328}.h{font-weight:600;font-size:14px}
.s{fill:#59636e}.r{fill:#1a7f64}.m{fill:#b35900}.g{stroke:#d1d9e0}.t{stroke:#1f2328}
.p{fill-opacity:.55}`

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Returns how many times a figure is as good as its target. */
export function shareOfTarget({ value, least, most }: Figure): number {
  if (least !== undefined) return value.median / least
  return most! / Math.max(value.median, Number.EPSILON)
}

const axis = (share: number): number => {
  const bounded = Math.min(MOST, Math.max(LEAST, share))
  const width = WIDTH_PX - LABEL_PX - 2 * MARGIN_PX
  return LABEL_PX + (Math.log(bounded / LEAST) / Math.log(MOST / LEAST)) * width
}

const cut = (text: string): string =>
  text.length > LABEL_CHARACTERS ? `${text.slice(0, LABEL_CHARACTERS - 1)}…` : text

function rowOf(figure: Figure, at: number, valueText: (figure: Figure) => string): string {
  const y = HEAD_PX + at * ROW_PX
  const [line, x] = [axis(1), axis(shareOfTarget(figure))]
  const state = isReached(figure) ? 'r' : 'm'
  const shade = figure.database === 'postgres' ? ' p' : ''
  const label = cut(`${figure.row.split('@')[0]}  ${figure.subject}`)
  const text = escapeXml(valueText(figure))
  const isLeft = x < line
  const textX = isLeft ? x - 6 : x + 6
  return [
    `<text x="${MARGIN_PX}" y="${y + 13}">${escapeXml(label)}</text>`,
    `<rect class="${state}${shade}" x="${Math.min(line, x).toFixed(1)}" y="${y + 3}"`,
    ` width="${Math.max(1, Math.abs(x - line)).toFixed(1)}" height="12"/>`,
    `<text class="s" x="${textX.toFixed(1)}" y="${y + 13}"`,
    `${isLeft ? ' text-anchor="end"' : ''}>${text}</text>`,
  ].join('')
}

/**
 * Returns the picture of the figures that have a target.
 *
 * @param valueText - returns a figure as text: `1.06`
 */
export function performanceSvg(
  figures: readonly Figure[],
  valueText: (figure: Figure) => string,
): string {
  const targeted = figures.filter((figure) => isReached(figure) !== undefined)
  const height = HEAD_PX + targeted.length * ROW_PX + MARGIN_PX
  const ticks = TICKS.map((tick) => {
    const x = axis(tick).toFixed(1)
    const style = tick === 1 ? 't' : 'g'
    return [
      `<line class="${style}" x1="${x}" x2="${x}" y1="${HEAD_PX - 6}" y2="${height - MARGIN_PX}"/>`,
      `<text class="s" x="${x}" y="${HEAD_PX - 12}" text-anchor="middle">${tick} ×</text>`,
    ].join('')
  })
  const title = 'Each figure divided by its target'
  const legend = 'green: reached · orange: not reached · pale: PostgreSQL'
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH_PX}" height="${height}"
 viewBox="0 0 ${WIDTH_PX} ${height}" role="img" aria-label="${title}">
<style>${STYLE}</style>
<rect width="100%" height="100%" fill="#fff"/>
<text class="h" x="${MARGIN_PX}" y="24">${title}</text>
<text class="s" x="${MARGIN_PX}" y="42">${legend}</text>
${ticks.join('\n')}
${targeted.map((figure, at) => rowOf(figure, at, valueText)).join('\n')}
</svg>
`
}
