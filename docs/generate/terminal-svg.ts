/**
 * Draws a recorded terminal session as an animated SVG. Every line is visible without animation:
 * where styles do not move, or the reader prefers less motion, the picture is the whole session.
 * No script, no font, no other file. Pure.
 */

/** A line of the session, with ANSI styles, and when it appears. */
export interface TerminalLine {
  readonly text: string
  readonly atMs: number
  /** Of a command that a person types: how long it takes. */
  readonly typedMs?: number
}

export interface TerminalSvgOptions {
  readonly title: string
  readonly description: string
  readonly columns: number
}

const FONT_PX = 13
const ROW_PX = 18
const COLUMN_PX = FONT_PX * 0.61
const MARGIN_PX = 16
const BAR_PX = 30

/** Classes by the codes of SGR (ECMA-48 §8.3.117); others have none. */
const CLASSES: Readonly<Record<string, string>> = {
  1: 'b',
  2: 'd',
  31: 'r',
  32: 'g',
  33: 'y',
  36: 'c',
  90: 'd',
}
const ENDS: Readonly<Record<string, readonly string[]>> = {
  0: ['b', 'd', 'r', 'g', 'y', 'c'],
  22: ['b', 'd'],
  39: ['r', 'g', 'y', 'c'],
}
const SGR = /\x1b\[([\d;]*)m/

const STYLE = `text{font:${FONT_PX}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
fill:#d7dce2;white-space:pre}.b{font-weight:700;fill:#fff}.d{fill:#98a2ae}.r{fill:#ff9b93}
.g{fill:#7fd490}.y{fill:#e9c46a}.c{fill:#79c7e8}
@media (prefers-reduced-motion:no-preference){.l{animation:show 1ms both}.t{animation:type both}}
@keyframes show{from{opacity:0}}@keyframes type{from{clip-path:inset(0 100% 0 0)}}`

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Returns the text without its styles. */
export const plainText = (text: string): string => text.replaceAll(new RegExp(SGR, 'g'), '')

/** Breaks a line where a terminal of this width does. Styles continue on the next line. */
export function wrapLine(text: string, columns: number): string[] {
  const lines = ['']
  let left = columns
  let styles = ''
  for (const part of text.split(/(\x1b\[[\d;]*m)/)) {
    if (SGR.test(part)) {
      styles = /\[(0|22|39)?m/.test(part) ? '' : styles + part
      lines[lines.length - 1] += part
      continue
    }
    for (const character of part) {
      if (left-- === 0) {
        lines.push(styles)
        left = columns - 1
      }
      lines[lines.length - 1] += character
    }
  }
  return lines
}

function spansOf(text: string): string {
  const active = new Set<string>()
  return text
    .split(/(\x1b\[[\d;]*m)/)
    .map((part) => {
      const [, codes] = SGR.exec(part) ?? []
      if (codes === undefined) {
        if (part === '') return ''
        const span = escapeXml(part)
        return active.size === 0 ? span : `<tspan class="${[...active].join(' ')}">${span}</tspan>`
      }
      for (const code of codes.split(';')) {
        for (const name of ENDS[code || '0'] ?? []) active.delete(name)
        const name = CLASSES[code]
        if (name !== undefined) active.add(name)
      }
      return ''
    })
    .join('')
}

function lineElement({ text, atMs, typedMs }: TerminalLine, row: number): string {
  const y = BAR_PX + MARGIN_PX + row * ROW_PX
  const timing =
    typedMs === undefined
      ? `animation-delay:${atMs}ms`
      : `animation-delay:${atMs}ms;animation-duration:${typedMs}ms;` +
        `animation-timing-function:steps(${[...plainText(text)].length})`
  const kind = typedMs === undefined ? 'l' : 't'
  return `<text class="${kind}" x="${MARGIN_PX}" y="${y}" style="${timing}">${spansOf(text)}</text>`
}

/** Returns the SVG of a session. */
export function terminalSvg(
  lines: readonly TerminalLine[],
  { title, description, columns }: TerminalSvgOptions,
): string {
  const width = Math.ceil(columns * COLUMN_PX + 2 * MARGIN_PX)
  const height = BAR_PX + MARGIN_PX + lines.length * ROW_PX
  const elements = lines.flatMap((line, row) =>
    plainText(line.text).trim() === '' ? [] : [lineElement(line, row)],
  )
  const dots = [0, 1, 2].map((n) => `<circle cx="${20 + n * 18}" cy="16" r="5" fill="#4a525c"/>`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
      `role="img" aria-labelledby="title desc" xml:space="preserve">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="desc">${escapeXml(description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#1b1f24"/>${dots.join('')}`,
    ...elements,
    '</svg>',
    '',
  ].join('\n')
}
