/** Colours as `#rrggbb`, their contrast and mixtures. Pure. */

type Channels = readonly [red: number, green: number, blue: number]

/** Returns a colour in lower case; undefined unless it is `#rgb` or `#rrggbb`. */
export function parseColour(text: string): string | undefined {
  const [, digits] = /^#([0-9a-f]{3}|[0-9a-f]{6})$/.exec(text.toLowerCase()) ?? []
  if (digits === undefined) return undefined
  return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`
}

const channelsOf = (colour: string): Channels => [
  Number.parseInt(colour.slice(1, 3), 16),
  Number.parseInt(colour.slice(3, 5), 16),
  Number.parseInt(colour.slice(5, 7), 16),
]

/** Returns the relative luminance (WCAG 2.2). */
function luminanceOf(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Channels
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Returns the contrast of two colours: 1 to 21 (WCAG 2.2, 1.4.3). */
export function contrastOf(first: string, second: string): number {
  const [darker, lighter] = [luminanceOf(first), luminanceOf(second)].sort((a, b) => a - b) as [
    number,
    number,
  ]
  return (lighter + 0.05) / (darker + 0.05)
}

/** Returns a mixture; `share` of the first, the rest of the second. */
export function mixColours(first: string, second: string, share: number): string {
  const channels = channelsOf(second)
  const mixed = channelsOf(first).map((channel, n) =>
    Math.round(channel * share + channels[n]! * (1 - share))
      .toString(16)
      .padStart(2, '0'),
  )
  return `#${mixed.join('')}`
}
